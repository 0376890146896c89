/** Loads that fail: who fails decides where nothing else can, and there is always a verdict. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prove } from '../../dist/prove/prove.js';
import { seededRandom } from '../../dist/prove/shuffle.js';
import { judgeFailures } from '../../dist/prove/verdict.js';
import { randomOf, sampleOf } from '../tune/simulated.mjs';

const ROUNDS = 12;
const all = Array.from({ length: ROUNDS }, (_, round) => round + 1);

test('who surely fails less often helped, who fails more often did not', () => {
  const verdict = (unchanged, changed, control) =>
    judgeFailures({ unchanged, changed, control })?.verdict;
  assert.equal(verdict(all, [], all), 'helped');
  assert.equal(verdict(all.slice(0, 6), [], all.slice(3, 9)), 'helped');
  assert.equal(verdict(all.slice(0, 5), [], all), undefined, 'five heads in a row may be chance');
  assert.equal(verdict([], [3], []), 'did-not-help');
  assert.equal(verdict([3], [3], []), undefined);
  assert.equal(verdict([], [], []), undefined);
});

test('chance alone is told as a help in at most 2.5 % of proofs', () => {
  const random = randomOf(5);
  const failed = (share) => all.filter(() => random() < share);
  let helped = 0;
  const proofs = 4000;
  for (let proof = 0; proof < proofs; proof += 1) {
    const share = [0.1, 0.3, 0.5, 0.8][proof % 4];
    const rounds = { unchanged: failed(share), changed: failed(share), control: failed(share) };
    if (judgeFailures(rounds)?.verdict === 'helped') helped += 1;
  }
  assert.ok(helped <= 0.025 * proofs, `${helped}`);
});

/** A proof of arms whose loads fail as `fails` says, without a service. */
async function proved(fails, rounds = ROUNDS) {
  const random = randomOf(2);
  let runs = 0;
  const run = async (_, arm) => {
    runs += 1;
    return fails(arm.name, random)
      ? { kind: 'lost', of: 'load', reason: 'the load failed' }
      : { kind: 'measured', sample: sampleOf(random, 1, 250), execPath: undefined };
  };
  const limits = { listenMs: 1, runMs: 1, signal: new AbortController().signal };
  const change = { name: 'change', start: (service) => service };
  const subject = { command: ['service'], onPort: 'load', warmupNs: 0 };
  const options = { subject, rounds, random: seededRandom(1), limits, run };
  const proof = await prove(change, options);
  return { ...proof, runs };
}

/** A proof of a change that takes half as long, in which `measured(arm, run)` is changed. */
async function halving({ changed = {}, abortAfter = Number.POSITIVE_INFINITY, ...more }) {
  const random = randomOf(2);
  const ending = new AbortController();
  let runs = 0;
  const run = async (_, arm) => {
    runs += 1;
    if (runs > abortAfter) return { kind: 'interrupted' };
    const isChange = arm.name === 'change';
    const sample = sampleOf(random, isChange ? 0.5 : 1, 250);
    return { kind: 'measured', sample: { ...sample, ...(isChange ? changed : {}) } };
  };
  const limits = { listenMs: 1, runMs: 1, signal: ending.signal };
  const change = { name: 'change', start: (service) => service };
  const subject = { command: ['service'], onPort: 'load', warmupNs: 0 };
  const common = { subject, rounds: ROUNDS, random: seededRandom(1), limits, run };
  return prove(change, { ...common, ...more });
}

test('a proof that was interrupted says nothing, whatever it has seen by then', async () => {
  const whole = await halving({});
  assert.equal(whole.verdict, 'helped', whole.reason);
  const cut = await halving({ abortAfter: 3 * 10 });
  assert.deepEqual([cut.rounds, cut.interrupted], [10, true]);
  assert.deepEqual([cut.verdict, cut.reason], ['not-enough-samples', 'it was interrupted']);
  assert.ok(cut.effect.percentiles.length > 0, 'what is known is told');
});

test('a change that uses more than it may in a round of the proof did not help', async () => {
  const changed = { peakRssBytes: 540 * 2 ** 20 };
  assert.equal((await halving({ changed })).verdict, 'helped', 'without a bound');
  const over = await halving({ changed, budgetBytes: 512 * 2 ** 20 });
  assert.deepEqual([over.verdict, over.rounds], ['did-not-help', 1]);
  assert.match(over.reason, /^change: it used 540 MiB of 512 MiB$/);
});

test('a change that carries a load which the unchanged one does not has a verdict', async () => {
  const proof = await proved((name) => name !== 'change');
  assert.equal(proof.verdict, 'helped');
  assert.match(proof.reason, /failed in 0 rounds, the unchanged service's in 12 and 12/);
  assert.equal(proof.rounds, 0);
  // Each load that fails is tried once more.
  assert.equal(proof.runs, ROUNDS * 5);
});

test('a change under which the load fails has one, too', async () => {
  const proof = await proved((name) => name === 'change');
  assert.equal(proof.verdict, 'did-not-help');
});

test('where every load fails that is said, and soon', async () => {
  const proof = await proved(() => true);
  assert.equal(proof.verdict, 'not-enough-samples');
  assert.equal(proof.reason, 'every load failed: the load failed');
  assert.ok(proof.isLoadAtFault);
  assert.equal(proof.runs, 2 * 3 * 2, 'two rounds of three arms, each load twice');
});

test('where in every round one fails, it is no matter of the load', async () => {
  const proof = await proved((name) => name === 'unchanged');
  assert.equal(proof.reason, 'in every round a load failed');
  assert.equal(proof.isLoadAtFault, false);
});

test('rounds in which no load failed are judged by their latencies', async () => {
  let failing = 2;
  const proof = await proved((name) => name === 'A/A' && failing > 0 && failing-- > 0);
  // One load failed twice: its round counts for nobody.
  assert.deepEqual(
    proof.records.map(({ failedRounds }) => failedRounds.length),
    [0, 0, 1],
  );
  assert.equal(proof.rounds, ROUNDS - 1);
  assert.notEqual(proof.effect, null);
  assert.equal(proof.verdict, 'did-not-help');
});
