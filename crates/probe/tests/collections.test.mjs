// Compares every collection and every step of marking that the probe tells with V8's own slice of
// the same moment, and the pauses with the lines of `--trace-gc` as well.
//
// The machine may take the thread away between the probe's look at the clock and V8's, however
// near they are. So the bounds come from V8: its slices around the two callbacks say how far apart
// both can be in that very pause. The variables are those of `observed.mjs`.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { launch, nodes, only, temporary } from './observed.mjs';
import { COLLECTIONS, outermost, printedPauses, readSlices, sliceFlags } from './v8-slices.mjs';

const KINDS = { 1: 'Scavenge', 4: 'Mark-Compact' };
const SLICES = { MinorGC: 'Scavenge', MajorGC: 'Mark-Compact' };
const MARKING_STEP = '8';
/** What all of a kind together may differ by. */
const SHARE = 0.02;
/** From V8's slice to the ends of its callbacks; what takes longer was not run meanwhile. */
const SLACK_NS = 50_000;
/** V8 prints hundredths of a millisecond. */
const PRINTED_NS = 10_000;
/** To enter a step and to leave it, between the probe's look and V8's. */
const ENTRY_NS = 500;
/** V8's slices are told in whole microseconds: what two of them may be off by, and the scale. */
const ROUNDING_NS = 3_000;
const SCALE = 0.001;
/** The same moment by the probe's clock and by V8's. */
const SAME_NS = 20_000;

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const total = (list, key) => sum(list.map((one) => one[key]));
const lengthNs = ({ beginNs, endNs }) => endNs - beginNs;
const ms = (ns) => `${(ns / 1e6).toFixed(3)} ms`;
const overlaps = (a, b) => a.beginNs < b.endNs && b.beginNs < a.endNs;

/** The probe's records of collections, and V8's slices and lines, of one run. */
async function collections(node, out) {
  const flags = [
    '--trace-gc',
    '--expose-gc',
    '--max-semi-space-size=4',
    ...sliceFlags(out, COLLECTIONS),
  ];
  // Marks in steps alone.
  flags.push('--no-concurrent-marking');
  // V8 prints within the pause: a pipe would wake up whoever reads, and that may take the thread.
  const lines = path.join(out, 'stdout');
  const stdout = fs.openSync(lines, 'w');
  const child = launch(node, out, 'collections', { script: 'v8.cjs', flags, stdout });
  fs.closeSync(stdout);
  let stderr = '';
  child.stderr.on('data', (data) => (stderr += data));
  const code = await new Promise((resolve) => child.on('close', resolve));
  assert.equal(code, 0, stderr);
  const trace = only(out);
  const startNs = Number(trace.text.match(/^start (\d+)/m)[1]);
  const records = trace.of('gc').map(({ at, begin, kind }) => {
    return { kind, beginNs: startNs + Number(begin), endNs: startNs + at };
  });
  const slices = readSlices(out).filter((slice) => slice.endNs > startNs);
  return { records, slices, printed: printedPauses(fs.readFileSync(lines, 'utf8')) };
}

/** Each pause as the probe and as V8 tell it, one by one. */
function pairs({ records, slices, printed }) {
  const pauses = records.filter(({ kind }) => kind in KINDS);
  const theirs = slices.filter(({ name }) => name in SLICES);
  const kinds = pauses.map(({ kind }) => KINDS[kind]);
  assert.deepEqual(
    kinds,
    theirs.map(({ name }) => SLICES[name]),
  );
  // V8 printed those before the recording, too.
  const lines = printed.slice(-pauses.length);
  assert.deepEqual(
    kinds,
    lines.map(({ kind }) => kind),
  );
  return pauses.map((own, at) => {
    const around = (name, whenNs) => {
      const near = ({ beginNs, endNs }) => beginNs <= whenNs + SAME_NS && endNs >= whenNs - SAME_NS;
      const found = slices.find((slice) => slice.name === name && near(slice));
      assert.ok(found, `the probe's look at ${whenNs} is not in ${name}`);
      return found;
    };
    const prologue = around('V8.GC_HEAP_EXTERNAL_PROLOGUE', own.beginNs);
    const epilogue = around('V8.GC_HEAP_EXTERNAL_EPILOGUE', own.endNs);
    assert.ok(overlaps(own, theirs[at]), `pause ${at} is another than V8's`);
    const inPause = slices.filter((slice) => overlaps(slice, theirs[at]));
    return {
      kind: kinds[at],
      ownNs: lengthNs(own),
      theirsNs: lengthNs(theirs[at]),
      printedNs: lines[at].durationNs,
      leastNs: epilogue.beginNs - prologue.endNs,
      mostNs: epilogue.endNs - prologue.beginNs,
      sweepingNs: sum(outermost(inPause, /COMPLETE_SWEEP/).map(lengthNs)),
    };
  });
}

/**
 * Every pause lies between V8's bounds; and where those are near V8's own slice, as they are
 * unless the thread was taken away between the two, the pauses together are the slices. None is
 * shorter than V8 prints. By how much it is longer is told and not judged: V8 prints within the
 * pause and leaves out waiting for its sweeper, and may lose the thread in either.
 */
function assertPauses(list, what) {
  for (const { ownNs, leastNs, mostNs, printedNs } of list) {
    const text = `${what} of ${ms(ownNs)}, V8 says ${ms(leastNs)} to ${ms(mostNs)}`;
    assert.ok(ownNs >= (1 - SCALE) * leastNs - ROUNDING_NS, text);
    assert.ok(ownNs <= (1 + SCALE) * mostNs + ROUNDING_NS, text);
    const isAsLong = ownNs >= (1 - SCALE) * printedNs - PRINTED_NS;
    assert.ok(isAsLong, `${what} of ${ms(ownNs)}, V8 prints ${ms(printedNs)}`);
  }
  const kept = list.filter(({ mostNs, theirsNs }) => mostNs - theirsNs <= SLACK_NS);
  const text = assertTogether(kept, `${kept.length} of ${list.length} ${what}`);
  const [printed, swept] = [total(kept, 'printedNs'), total(kept, 'sweepingNs')].map(ms);
  return `${text}, it prints ${printed} and swept ${swept}`;
}

function assertTogether(kept, what, moreNs = 0) {
  const [ownNs, theirsNs] = [total(kept, 'ownNs'), total(kept, 'theirsNs')];
  const text = `${what}: ${ms(ownNs)}, V8 says ${ms(theirsNs)}`;
  assert.ok(Math.abs(ownNs - theirsNs) <= SHARE * theirsNs + moreNs, text);
  return text;
}

/** Steps of marking: V8's slices, and what the probe tells of their time. */
function steps({ records, slices }) {
  const own = records.filter(({ kind }) => kind === MARKING_STEP);
  const pauses = records.filter(({ kind }) => kind in KINDS);
  const names = /^V8\.(GCIncrementalMarking(Start)?|GC_MC_INCREMENTAL_START)$/;
  const within = (list, slice) =>
    sum(
      list.map(({ beginNs, endNs }) =>
        Math.max(0, Math.min(endNs, slice.endNs) - Math.max(beginNs, slice.beginNs)),
      ),
    );
  const theirs = outermost(slices, names);
  for (const one of own) {
    assert.ok(
      theirs.some((slice) => overlaps(one, slice)),
      `step at ${one.beginNs}: V8 has none`,
    );
  }
  return theirs.map((slice) => {
    const mine = own.filter((one) => overlaps(one, slice));
    // A collection within a step has a record of its own.
    const theirsNs = lengthNs(slice) - within(pauses, slice);
    return { ownNs: sum(mine.map(lengthNs)), theirsNs };
  });
}

/**
 * V8 opens its slice within what the probe is told, so no step is shorter. Nothing of V8's lies
 * around the probe's looks, and V8's slice may wake up whoever writes slices to the file: so only
 * the half that is closest is judged from above.
 */
function assertSteps(list) {
  assert.ok(list.length > 0, 'V8 marked in no steps');
  for (const { ownNs, theirsNs } of list) {
    const text = `a step of ${ms(ownNs)}, V8's slice is ${ms(theirsNs)}`;
    assert.ok(ownNs >= (1 - SCALE) * theirsNs - ROUNDING_NS, text);
  }
  const byError = list.toSorted((a, b) => a.ownNs - a.theirsNs - (b.ownNs - b.theirsNs));
  const kept = byError.slice(0, Math.ceil(byError.length / 2));
  return assertTogether(kept, `${kept.length} of ${list.length} steps`, ENTRY_NS * kept.length);
}

/** What V8 does on the thread for a collection and no record tells: it has no callback for it. */
function beside({ records, slices }) {
  const list = outermost(slices, /^V8\.GC_MC_(SWEEP|BACKGROUND_SWEEPING)$/);
  const outside = list.filter((slice) => !records.some((one) => overlaps(one, slice)));
  const sweepingNs = sum(outside.map(lengthNs));
  return `sweeping in no record: ${ms(sweepingNs)}, ${outside.length} pieces`;
}

for (const node of nodes) {
  const version = execFileSync(node, ['-p', 'process.version'], { encoding: 'utf8' }).trim();
  describe(`collections in ${version}`, () => {
    it('are told as V8 tells them, one by one', async (t) => {
      const told = await collections(node, temporary(t));
      const list = pairs(told);
      for (const kind of Object.values(KINDS)) {
        const ofKind = list.filter((pair) => pair.kind === kind);
        assert.ok(ofKind.length > 3, `${ofKind.length} of ${kind}`);
        t.diagnostic(assertPauses(ofKind, kind));
      }
      t.diagnostic(assertSteps(steps(told)));
      t.diagnostic(beside(told));
    });
  });
}
