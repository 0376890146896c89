// Policies on one service round by round: ratios of drawn rounds, and of the kept ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { FIGURES, meanOfRounds, ratiosByRound } from './by-round.mjs';
import { cellsIn } from './cells.mjs';

const kept = (run) => fileURLToPath(new URL(`../runs/${run}`, import.meta.url));
const FIRST = kept('2026-11-29-boost-16');
const SECOND = kept('2026-11-29-boost-17');
const COMBINED = ['combined-untuned', 'combined-again'];
const LEAN = ['deadline-85', 'deadline-85-again'];

test('a ratio of a round is to the geometric mean of those it is compared with', () => {
  const cells = (...shares) => shares.map((boostedShare, at) => ({ round: at + 1, boostedShare }));
  const arms = new Map([
    ['ours', cells(0.01, 0.03)],
    ['theirs', cells(0.01, 0.02)],
    ['again', cells(0.04, 0.02).toReversed()],
  ]);
  const ratios = ratiosByRound(arms, FIGURES['time boosted'], ['ours'], ['theirs', 'again']);
  assert.deepEqual(
    ratios.map((ratio) => Number(ratio.toFixed(6))),
    [0.5, 1.5],
  );
  const { ratio, low, high, less, rounds } = meanOfRounds([ratios, [2, 2]]);
  assert.ok(Math.abs(ratio - Math.sqrt(2 * Math.sqrt(0.75))) < 1e-9);
  assert.deepEqual([less, rounds], [1, 4]);
  // The first service's two rounds lie so far from their mean, and a sample has but one at worst.
  const off = (Math.SQRT2 * Math.log(3)) / 2;
  for (const [bound, away] of [
    [low, -off],
    [high, off],
  ]) {
    assert.ok(Math.abs(bound - ratio * Math.exp(away / 2)) < 1e-9, `${bound} of ${ratio}`);
  }
  const ofBoth = ratiosByRound(arms, FIGURES['time boosted'], ['theirs', 'again'], ['ours']);
  assert.deepEqual(
    ofBoth.map((ratio) => Number(ratio.toFixed(6))),
    [2, 0.666667],
  );
});

test('what is the same is not less', () => {
  const cells = [{ round: 1, boostedShare: 0.0123 }];
  const arms = new Map([
    ['ours', cells],
    ['theirs', cells],
  ]);
  const ratios = ratiosByRound(arms, FIGURES['time boosted'], ['ours'], ['theirs']);
  assert.equal(meanOfRounds([ratios]).less, 0);
});

/** Of kept rounds: arms by others. */
function keptMean(run, figure, ours, theirs) {
  const services = [...cellsIn(run).values()];
  return meanOfRounds(services.map((arms) => ratiosByRound(arms, FIGURES[figure], ours, theirs)));
}

test('deadline has a shorter p99 than Combined on one service, in the rounds of boost-16', () => {
  for (const figure of ['service: p99', 'load: p99']) {
    const { high, rounds } = keptMean(FIRST, figure, ['deadline-untuned'], COMBINED);
    assert.equal(rounds, 20);
    assert.ok(high < 1, `${figure}: ${high}`);
    const same = keptMean(FIRST, figure, [COMBINED[1]], [COMBINED[0]]);
    assert.ok(same.low < 1 && 1 < same.high, `${figure}: the same twice is told apart`);
  }
});

test('with less it costs less than Combined, and has the same tail, in those of boost-17', () => {
  for (const figure of ['service: p99', 'service: p99.9', 'load: p99', 'load: p99.9']) {
    const { low, high } = keptMean(SECOND, figure, LEAN, COMBINED);
    assert.ok(low < 1 && 1 < high, `${figure}: ${low} to ${high}`);
  }
  const { high, rounds } = keptMean(SECOND, 'time boosted', LEAN, COMBINED);
  assert.deepEqual([rounds, high < 1], [20, true], String(high));
});
