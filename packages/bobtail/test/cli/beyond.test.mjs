/** Drawn differences: whatever moved, the parts told of it add up to what is told as their sum. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertBeyondAddsUp } from './beyond-sums.mjs';
import { PACKAGE } from './run-bobtail.mjs';

const load = createRequire(import.meta.url);
const { renderDiff } = load(join(PACKAGE, 'dist/cli/diff/render-diff.js'));
const look = { colors: load('picocolors').createColors(false), width: 120 };
const fixture = JSON.parse(readFileSync(join(PACKAGE, 'test/cli/fixtures/diff.json'), 'utf8'));
const DRAWS = 3000;
const NOTHING = { aNs: null, bNs: null, deltaNs: null, lowNs: null, highNs: null, noiseNs: null };

/** The same numbers in each run (Marsaglia, *Xorshift RNGs*, 2003). */
function drawing(seed) {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** Of two times: rounded each for itself, as the analysis does. */
function change([a, b], draw) {
  const deltaNs = Math.round(b - a);
  const verdict = deltaNs === 0 || draw() < 0.4 ? 'within-noise' : deltaNs > 0 ? 'more' : 'less';
  const [aNs, bNs] = [a, b].map(Math.round);
  return { aNs, bNs, deltaNs, lowNs: deltaNs - 9, highNs: deltaNs + 9, noiseNs: 7, verdict };
}

function drawnDiff(draw) {
  const time = () => (draw() < 0.15 ? 0 : 10 ** (draw() * 9));
  const sides = [0, 1].map(() => {
    const [io, queue, exec] = [time(), time(), time()];
    const unattributed = draw() < 0.8 ? 0 : time();
    const shares = Array.from({ length: 6 }, () => draw() ** 4);
    const whole = shares.reduce((sum, share) => sum + share, 0);
    const [native, gc, jit, ic, loop, notRunning] = shares.map(
      (share) => (share / whole) * (queue + exec),
    );
    return { io, queue, exec, unattributed, native, gc, jit, ic, loop, notRunning };
  });
  // What was not measured is part of native.
  const hidden = ['jit', 'ic', 'notRunning'].filter(() => draw() < 0.5);
  for (const side of sides) {
    side.native += hidden.reduce((sum, name) => sum + side[name], 0);
  }
  const causes = Object.keys(sides[0]).map((cause) =>
    hidden.includes(cause)
      ? { cause, ...NOTHING, verdict: 'too-few' }
      : {
          cause,
          ...change(
            sides.map((side) => side[cause]),
            draw,
          ),
        },
  );
  const latencies = sides.map((one) => one.io + one.queue + one.exec + one.unattributed);
  const beyond = change(latencies, draw);
  // A percentile moves by another time than the mean beyond it, even the other way.
  const latency = { ...change([time(), time()], draw), verdict: draw() < 0.5 ? 'more' : 'less' };
  const percentile = { percentile: 99, latency, beyond, causes, note: null };
  return { ...fixture, routes: [{ ...fixture.routes[0], percentiles: [percentile] }] };
}

test('in drawn differences the parts told add up to their sum', () => {
  const draw = drawing(20261121);
  const told = [0, 0, 0];
  for (let i = 0; i < DRAWS; i++) {
    const diff = drawnDiff(draw);
    const lines = assertBeyondAddsUp(diff, renderDiff(diff, ['a.bobtail', 'b.bobtail'], look));
    told[lines.length] += 1;
    const [one] = diff.routes[0].percentiles;
    const moved = (name) => {
      const { verdict } = one.causes.find(({ cause }) => cause === name);
      return ['more', 'less'].includes(verdict);
    };
    if (lines.length === 0) {
      assert.ok(!['io', 'queue', 'exec', 'unattributed'].some(moved));
      continue;
    }
    // Each that moved is named, on the line of what it is a part of.
    for (const [names, start] of [
      [['io', 'queue', 'exec', 'unattributed'], 'The mean beyond p99'],
      [['native', 'gc', 'jit', 'ic', 'loop'], 'Queue and exec'],
    ]) {
      for (const name of names.filter(moved)) {
        const line = lines.find((text) => text.startsWith(start)) ?? assert.fail(name);
        assert.match(line, new RegExp(`[:,] ${name} [+−]`));
      }
    }
  }
  assert.ok(told[2] > DRAWS / 2, told.join());
});

test('nothing is told beyond a percentile where none moved', () => {
  const diff = drawnDiff(drawing(7));
  diff.routes[0].percentiles[0].latency.verdict = 'within-noise';
  assert.doesNotMatch(renderDiff(diff, ['a', 'b'], look), /mean beyond|Queue and exec/);
});
