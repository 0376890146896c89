// Policies on one service round by round: ratios of drawn rounds, and of the kept ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { FIGURES, meanOfRounds, ratiosByRound } from './by-round.mjs';
import { cellsIn } from './cells.mjs';

const kept = fileURLToPath(new URL('../runs/2026-11-29-boost-16', import.meta.url));

test('a ratio of a round is to the geometric mean of those it is compared with', () => {
  const cells = (...shares) => shares.map((boostedShare, at) => ({ round: at + 1, boostedShare }));
  const arms = new Map([
    ['ours', cells(0.01, 0.03)],
    ['theirs', cells(0.01, 0.02)],
    ['again', cells(0.04, 0.02).toReversed()],
  ]);
  const ratios = ratiosByRound(arms, FIGURES['time boosted'], 'ours', ['theirs', 'again']);
  assert.deepEqual(
    ratios.map((ratio) => Number(ratio.toFixed(6))),
    [0.5, 1.5],
  );
  const { ratio, low, high, less, rounds } = meanOfRounds([ratios, [2, 2]]);
  assert.ok(Math.abs(ratio - Math.sqrt(2 * Math.sqrt(0.75))) < 1e-9);
  assert.deepEqual([less, rounds], [1, 4]);
  assert.ok(Math.abs(low - 1) < 1e-9 && Math.abs(high - Math.sqrt(3)) < 1e-9, `${low} ${high}`);
});

/** Of the kept rounds: an arm by others. */
function keptMean(figure, ours, theirs) {
  const services = [...cellsIn(kept).values()];
  return meanOfRounds(services.map((arms) => ratiosByRound(arms, FIGURES[figure], ours, theirs)));
}

test('deadline has a shorter p99 than Combined on one service, in the kept rounds', () => {
  for (const figure of ['service: p99', 'load: p99']) {
    const both = ['combined-untuned', 'combined-again'];
    const { high, rounds } = keptMean(figure, 'deadline-untuned', both);
    assert.equal(rounds, 20);
    assert.ok(high < 1, `${figure}: ${high}`);
    const same = keptMean(figure, 'combined-again', ['combined-untuned']);
    assert.ok(same.low < 1 && 1 < same.high, `${figure}: the same twice is told apart`);
  }
});
