/** A proof with a real service and another kind of change than flags, as a boost would be. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { prove } from '../../dist/prove/prove.js';
import { seededRandom } from '../../dist/prove/shuffle.js';
import { PACKAGE } from '../cli/run-bobtail.mjs';

const CHURN = join(PACKAGE, 'test/tune/fixtures/churn.cjs');
const LOAD = join(PACKAGE, 'test/tune/fixtures/load.mjs');
/** Far longer than anything else in a request, so that leaving it out must help. */
const WAIT_MS = 100;

const subject = {
  command: ['env', `WAIT_MS=${WAIT_MS}`, process.execPath, CHURN],
  onPort: `${process.execPath} ${LOAD} 4`,
  warmupNs: 0,
};
const options = () => ({
  subject,
  rounds: 8,
  random: seededRandom(3),
  limits: { listenMs: 30_000, runMs: 60_000, signal: new AbortController().signal },
});

test('a change that takes out a wait is proved to help', async () => {
  const change = {
    name: 'no wait',
    start: ({ env }) => ({ command: [process.execPath, CHURN], env }),
  };
  const orders = [];
  const progress = ({ arm }) => orders.push(arm);
  const proof = await prove(change, { ...options(), progress });
  assert.equal(proof.verdict, 'helped', JSON.stringify(proof.effect?.percentiles));
  assert.equal(proof.rounds, 8);
  assert.equal(proof.percentile, 50);
  const judged = proof.effect.percentiles.find((one) => one.percentile === 50);
  assert.ok(judged.a >= WAIT_MS * 1e6 && judged.high < 1);
  // Each round has every arm once, and not always in the same order.
  const rounds = Array.from({ length: 8 }, (_, round) => orders.slice(round * 3, round * 3 + 3));
  for (const round of rounds) {
    assert.deepEqual([...round].sort(), ['A/A', 'no wait', 'unchanged']);
  }
  assert.ok(new Set(rounds.map((round) => round.join())).size > 1);
});

test('a change under which the service dies did not help', async () => {
  const dead = { name: 'dead', start: ({ env }) => ({ command: ['sh', '-c', 'exit 4'], env }) };
  const proof = await prove(dead, options());
  assert.equal(proof.verdict, 'did-not-help');
  assert.equal(proof.reason, 'dead: it ended with exit code 4');
});

test('of a change that did not arrive nothing is known', async () => {
  const lost = { name: 'lost', start: (service) => service, missing: () => 'it is not there' };
  const proof = await prove(lost, options());
  assert.deepEqual([proof.verdict, proof.reason], ['not-enough-samples', 'lost: it is not there']);
});
