// Policies on one service round by round: ratios of drawn rounds, and of the kept ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  FIGURES,
  figuresOfPart,
  meanOfRounds,
  ratiosByRound,
  studentOfRounds,
} from './by-round.mjs';
import { cellsIn } from './cells.mjs';

const kept = (run) => fileURLToPath(new URL(`../runs/${run}`, import.meta.url));
const FIRST = kept('2026-11-29-boost-16');
const SECOND = kept('2026-11-29-boost-17');
const THIRD = kept('2026-11-29-boost-18');
const COMBINED = ['combined-untuned', 'combined-again'];
const LEAN = ['deadline-85', 'deadline-85-again'];
const SURE = ['deadline-85-sure', 'deadline-85-sure-again'];

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

test('what is the same is not less, though logarithms would have it so', () => {
  const cells = (boostedShare) => [{ round: 1, boostedShare }];
  const arms = new Map([
    ['ours', cells(0.02)],
    ['theirs', cells(0.01)],
    ['again', cells(0.04)],
  ]);
  const ratios = ratiosByRound(arms, FIGURES['time boosted'], ['ours'], ['theirs', 'again']);
  assert.ok(ratios[0] < 1, `${ratios[0]}: this test is of nothing`);
  assert.equal(meanOfRounds([ratios]).less, 0);
});

test('three rounds spread by half as much variance again as samples of them', () => {
  // All three the same one is 1 sample of 27, more than is left out on either side.
  const { ratio, low, high } = meanOfRounds([[0.5, 1, 2]]);
  const off = Math.sqrt(3 / 2) * Math.log(2);
  assert.ok(Math.abs(ratio - 1) < 1e-9);
  assert.ok(Math.abs(Math.log(low) + off) < 1e-9 && Math.abs(Math.log(high) - off) < 1e-9);
});

test('where a service has one round there is no interval', () => {
  const { ratio, low, high } = meanOfRounds([[0.5], [0.5, 0.5, 0.5]]);
  assert.deepEqual([ratio, low, high], [0.5, Number.NaN, Number.NaN]);
});

test("by Student's t services have variances of their own, of one round there is none", () => {
  const alike = [0, 0.3, -0.3].map(Math.exp);
  // The variance of the mean of three is 0.09 / 3; 97.5 % of t with 2 degrees of freedom is 4.303.
  const one = studentOfRounds([alike]);
  assert.ok(Math.abs(Math.log(one.high) - 4.303 * Math.sqrt(0.03)) < 1e-9);
  // With as much of two there are 4 (2.776), and with nothing of the other the 2 of the first.
  const two = studentOfRounds([alike, alike]);
  assert.ok(Math.abs(Math.log(two.low) + 2.776 * Math.sqrt(0.015)) < 1e-9);
  const sure = studentOfRounds([alike, [1, 1, 1]]);
  assert.ok(Math.abs(Math.log(sure.high) - (4.303 * Math.sqrt(0.03)) / 2) < 1e-9);
  const { ratio, low, high } = studentOfRounds([[0.5], [0.5, 0.5, 0.5]]);
  assert.deepEqual([ratio, low, high], [0.5, Number.NaN, Number.NaN]);
});

test('a part of the turns is a third of those that a round has', () => {
  const turn = (boostedShare, latenciesAtService) => ({ boostedShare, latenciesAtService });
  const byTurn = [turn(0.1, '700:2000'), turn(0.2, '710:1000'), turn(0.4, '720:1000')];
  const cell = { byTurn: [...byTurn, turn(0.6, '730:1000')] };
  const told = [0, 1, 2].map((part) => {
    const { 'service: p99': p99Ms, 'time boosted': boosted } = figuresOfPart(part);
    return [Math.round(100 * Math.log(p99Ms(cell)) + 1e-9), boosted(cell)];
  });
  const ms = (bucket) => Math.round(100 * Math.log(1.01 ** bucket / 1000));
  assert.deepEqual(told, [
    [ms(700), 0.1],
    [ms(710), 0.2],
    [ms(730), 0.5],
  ]);
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

test('with less it is cheaper than Combined, and no tail is told apart, in boost-17', () => {
  for (const figure of ['service: p99', 'service: p99.9', 'load: p99', 'load: p99.9']) {
    const { low, high } = keptMean(SECOND, figure, LEAN, COMBINED);
    assert.ok(low < 1 && 1 < high, `${figure}: ${low} to ${high}`);
  }
  const { high, rounds } = keptMean(SECOND, 'time boosted', LEAN, COMBINED);
  assert.deepEqual([rounds, high < 1], [20, true], String(high));
});

test("at a load as the recorded services' p99 is shorter for less energy, in boost-18", () => {
  const services = [...cellsIn(THIRD).values()];
  const by = (figure, theirs) => {
    return studentOfRounds(
      services.map((arms) => ratiosByRound(arms, FIGURES[figure], SURE, theirs)),
    );
  };
  for (const theirs of [COMBINED, [COMBINED[1]]]) {
    for (const figure of ['service: p99', 'time boosted']) {
      const { high, rounds } = by(figure, theirs);
      assert.deepEqual([rounds, high < 1], [16, true], `${figure}: ${high}`);
    }
  }
  const { low, high } = by('service: p99.9', [COMBINED[1]]);
  assert.ok(low < 1 && 1 < high, 'p99.9 is not told apart from the second Combined');
});
