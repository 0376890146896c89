/** The race and the Pareto set on made-up figures: who is out, how often wrongly, how soon. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { paretoSet } from '../../dist/tune/pareto.js';
import { evidence, losers, meanRatio, RACE_ALPHA } from '../../dist/tune/race.js';
import { normal, randomOf } from './simulated.mjs';

const ROUNDS = 12;

/** Runs a race as `search` does; `{ name: factor }` in, `{ name: rounds until out }` out. */
function race(factors, random) {
  const figures = new Map(Object.keys(factors).map((name) => [name, []]));
  const outAfter = {};
  for (let round = 1; round <= ROUNDS; round += 1) {
    for (const [name, list] of figures) {
      if (name in outAfter) continue;
      list.push(factors[name] * Math.exp(0.3 * normal(random)));
    }
    for (const name of losers(figures)) outAfter[name] ??= round;
  }
  return outAfter;
}

test('an arm as good as all others is taken out no more often than promised', () => {
  const random = randomOf(7);
  const names = Array.from({ length: 8 }, (_, index) => `arm ${index}`);
  const same = Object.fromEntries(names.map((name) => [name, 1]));
  const races = 500;
  let out = 0;
  for (let i = 0; i < races; i += 1) out += 'arm 0' in race(same, random) ? 1 : 0;
  assert.ok(out / races <= RACE_ALPHA, `${out} of ${races}`);
});

test('the best of a race stays in as often as promised, and clear losers leave soon', () => {
  const random = randomOf(11);
  const races = 200;
  let bestOut = 0;
  const losersOut = [];
  for (let i = 0; i < races; i += 1) {
    const outAfter = race({ best: 0.8, base: 1, control: 1, slow: 2, slower: 3 }, random);
    bestOut += 'best' in outAfter ? 1 : 0;
    losersOut.push(outAfter.slower ?? Infinity);
  }
  assert.ok(bestOut / races <= RACE_ALPHA, `${bestOut}`);
  const median = losersOut.sort((a, b) => a - b)[races / 2];
  assert.ok(median >= 4 && median <= 8, `${median}`);
});

test('one slow round proves nothing, however slow', () => {
  const figures = new Map([
    ['one', [1, 1, 1, 1, 1, 1, 1e6]],
    ['other', [2, 2, 2, 2, 2, 2, 2]],
  ]);
  assert.ok(evidence(figures, 'one') < 1);
  assert.ok(evidence(figures, 'other') > 4, 'one round does not undo six');
  const before = new Map([...figures].map(([name, list]) => [name, list.slice(0, 6)]));
  assert.deepEqual(losers(before), ['other']);
});

test('rounds in which only one of two ran are nobody’s evidence', () => {
  const figures = new Map([
    ['left', [9, 9]],
    ['stayed', [1, 1, 1, 1, 1, 1, 1, 1]],
    ['never ran', []],
  ]);
  assert.deepEqual(losers(figures), []);
  assert.ok(Math.abs(meanRatio([2, 8, 1e9], [1, 2]) - Math.sqrt(8)) < 1e-9);
  assert.equal(meanRatio([], [1]), undefined);
});

test('the Pareto set holds what no other beats in everything', () => {
  const arm = (name, ...costs) => ({ name, costs });
  const arms = [
    arm('fast', 1, 9, 9),
    arm('small', 9, 9, 1),
    arm('beaten', 9, 9, 9),
    arm('between', 5, 5, 5),
    arm('twin of between', 5, 5, 5),
  ];
  const names = paretoSet(arms).map(({ name }) => name);
  assert.deepEqual(names, ['fast', 'small', 'between', 'twin of between']);
  assert.deepEqual(paretoSet([]), []);
});
