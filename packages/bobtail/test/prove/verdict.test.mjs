/** The verdict of a proof on made-up rounds of known truth: how often wrong, how often found. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareArms } from '../../dist/prove/prove.js';
import { highestSupported, percentileNs } from '../../dist/prove/sample.js';
import { judge } from '../../dist/prove/verdict.js';
import { randomOf, roundsOf } from '../tune/simulated.mjs';

const ROUNDS = 12;

/** The verdicts of so many proofs of a change by `factor`. */
async function proofs(factor, trials, random, rounds = ROUNDS, requests = 250) {
  const verdicts = { helped: 0, 'did-not-help': 0, 'not-enough-samples': 0 };
  let judgement;
  for (let i = 0; i < trials; i += 1) {
    const base = roundsOf(random, 1, rounds, requests);
    const effect = await compareArms(base, roundsOf(random, factor, rounds, requests));
    const control = await compareArms(base, roundsOf(random, 1, rounds, requests));
    judgement = judge(effect.diff, control.diff);
    verdicts[judgement.verdict] += 1;
  }
  return { verdicts, judgement };
}

test('of no change it is hardly ever said that it helped', async () => {
  const trials = 200;
  const { verdicts } = await proofs(1, trials, randomOf(3));
  assert.equal(verdicts['not-enough-samples'], 0);
  // One side of a 95 % interval.
  assert.ok(verdicts.helped <= 0.025 * trials, JSON.stringify(verdicts));
});

test('a tail half as long is found, one that is longer is none', async () => {
  const random = randomOf(5);
  const shorter = await proofs(0.5, 40, random);
  assert.ok(shorter.verdicts.helped >= 36, JSON.stringify(shorter.verdicts));
  const longer = await proofs(1.5, 20, random);
  assert.equal(longer.verdicts['did-not-help'], 20);
  assert.equal(longer.judgement.reason, 'it is slower');
});

test('few rounds and few requests are told as such', async () => {
  const random = randomOf(9);
  const fewRounds = await proofs(0.1, 1, random, 7);
  assert.deepEqual(fewRounds.judgement, {
    verdict: 'not-enough-samples',
    percentile: null,
    reason: 'fewer than 8 rounds',
  });
  const fewRequests = await proofs(0.1, 1, random, 8, 2);
  assert.equal(fewRequests.judgement.reason, 'too few requests in the rounds');
});

test('it is judged at the highest percentile that has ten requests beyond it', async () => {
  const random = randomOf(13);
  assert.equal((await proofs(1, 1, random, 10, 1000)).judgement.percentile, 99.9);
  assert.equal((await proofs(1, 1, random, 10, 999)).judgement.percentile, 99);
  const supported = [19, 20, 40, 999, 1000, 9999, 10_000].map(highestSupported);
  assert.deepEqual(supported, [undefined, 50, 75, 95, 99, 99, 99.9]);
  const latencies = [
    [1, 98],
    [5, 1],
    [9, 1],
  ];
  const told = [50, 98, 99, 99.9].map((one) => percentileNs(latencies, one));
  assert.deepEqual(told, [1, 1, 5, 9]);
});

test('a gain no larger than what the service differs from itself is none', () => {
  const ratio = (value, low, high) => ({ a: 1, b: value, ratio: value, low, high, lack: null });
  const diff = (one) => ({ percentiles: [{ percentile: 99, ...one }], measures: [] });
  const gain = diff(ratio(0.8, 0.7, 0.9));
  const said = (noise) => judge(gain, diff(noise)).verdict;
  assert.equal(said(ratio(0.95, 0.8, 1.1)), 'helped');
  assert.equal(said(ratio(0.75, 0.6, 1.1)), 'did-not-help');
  assert.equal(said(ratio(1.3, 0.9, 1.5)), 'did-not-help', 'as far in the other direction');
  assert.equal(said({ ...ratio(1, null, null), lack: 'incidents' }), 'not-enough-samples');
});
