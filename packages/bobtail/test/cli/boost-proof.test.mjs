/** `boost --prove`: a verdict with its exit code, and nothing that is left running. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { createColors } from 'picocolors';
import { leaveOut } from '../../../../workloads/harness/leave-out.mjs';
import { BASE, makeTree, PEAK } from './boosted.mjs';
import { fixture } from './recordings.mjs';
import { makeFolder, PACKAGE, runBobtail } from './run-bobtail.mjs';
import { assertValid } from './schemas.mjs';

const require = createRequire(import.meta.url);
const { answerOf } = require(join(PACKAGE, 'dist/cli/boost/prove.js'));
const { renderProof } = require(join(PACKAGE, 'dist/cli/boost/render-proof.js'));
const { drivenArm, runDrivenRound, undrivenArm } = require(
  join(PACKAGE, 'dist/prove/driven-round.js'),
);

const CHURN = fixture('churn.mjs');
const LOAD = `${process.execPath} ${join(PACKAGE, 'test/tune/fixtures/load.mjs')} 30`;
const PROVE = ['boost', '--prove', '--actuator', 'emulated', '--policy', 'static:peak'];

test('too few rounds prove nothing, but each arm was driven as it should be', async (t) => {
  if (process.getuid() !== 0) return leaveOut(t, 'needs root');
  const cwd = makeFolder(t);
  const args = [...PROVE, '--rounds', '1', '--json', '--on-port', LOAD, '--seed', '7'];
  const env = { TMPDIR: cwd, BOBTAIL_RUN_DIR: cwd };
  const end = await runBobtail([...args, '--', process.execPath, CHURN], { cwd, env });
  assert.equal(end.code, 79, end.stderr);
  const answer = JSON.parse(end.stdout);
  assertValid('boost-proof', answer);
  assert.equal(answer.verdict, 'not-enough-samples');
  assert.deepEqual(
    answer.arms.map(({ name, policy }) => [name, policy]),
    [
      ['unchanged', 'static:base'],
      ['boosted', 'static:peak'],
      ['A/A', 'static:base'],
    ],
  );
  const shares = answer.arms.map(({ rounds }) => rounds[0].boostedShare);
  assert.deepEqual([shares[0], shares[2]], [0, 0]);
  assert.ok(shares[1] > 0.5, `${shares}`);
  // On each of the load's two connections the last may be answered and not yet counted.
  for (const { requests } of answer.arms.map(({ rounds }) => rounds[0])) {
    assert.ok(requests >= 28 && requests <= 30, `${requests}`);
  }
  assert.ok(answer.energyRelative > 1.8, `${answer.energyRelative}`);
  // Neither folders nor services are left.
  assert.deepEqual(readdirSync(cwd), []);
});

test('a real lever is compared with the service as it is, which has none', async (t) => {
  const cwd = makeFolder(t);
  const tree = makeTree(makeFolder(t));
  const seen = join(cwd, 'seen');
  const load = `${LOAD}; awk 1 '${tree.min(0)}' >> '${seen}'`;
  // A base of its own: held there the service would be seen at 2.6 GHz.
  const lever = ['--actuator', 'cpufreq', '--lever-root', tree.root, '--frequencies', '2.6,4'];
  const args = ['boost', '--prove', ...lever, '--policy', 'static:peak', '--rounds', '1', '--json'];
  const command = ['--on-port', load, '--', process.execPath, CHURN];
  const end = await runBobtail([...args, ...command], { cwd });
  assert.equal(end.code, 79, end.stderr);
  const answer = JSON.parse(end.stdout);
  assertValid('boost-proof', answer);
  assert.deepEqual(
    answer.arms.map(({ name, policy }) => [name, policy]),
    [
      ['unchanged', 'none'],
      ['boosted', 'static:peak'],
      ['A/A', 'none'],
    ],
  );
  assert.deepEqual(readFileSync(seen, 'utf8').trim().split('\n').sort(), [PEAK, BASE, BASE]);
  for (const { requests } of answer.arms.map(({ rounds }) => rounds[0])) {
    assert.ok(requests >= 28 && requests <= 30, `${requests}`);
  }
});

test('a service that dies is said so, and a load that fails is not proved', async (t) => {
  if (process.getuid() !== 0) return leaveOut(t, 'needs root');
  const dead = [...PROVE, '--rounds', '1', '--on-port', LOAD, '--', process.execPath];
  const died = await runBobtail([...dead, '-e', 'process.exit(4)']);
  assert.equal(died.code, 69, died.stderr);
  assert.match(died.stdout, /cannot be told: \S+: it ended with exit code 4\nnothing was measured/);
  const failing = [...PROVE, '--rounds', '1', '--on-port', 'exit 3', '--', process.execPath, CHURN];
  const failed = await runBobtail(failing);
  assert.equal(failed.code, 71, failed.stderr);
  assert.match(failed.stdout, /every load failed: the load command failed with exit code 3/);
  assert.match(failed.stdout, /load failed in 1 round: boosted/);
});

test('what ends a warm-up is told, and not that it was early', async (t) => {
  if (process.getuid() !== 0) return leaveOut(t, 'needs root');
  const warm = ['--rounds', '1', '--warmup', '1'];
  const noLoad = [...PROVE, ...warm, '--on-port', './no-such-load', '--', process.execPath, CHURN];
  const failed = await runBobtail(noLoad);
  assert.equal(failed.code, 71, failed.stderr);
  assert.match(failed.stdout, /every load failed: .* exit code 127 .*no-such-load/);
  const dies = 'setTimeout(() => process.exit(5), 300); require("net").createServer().listen(0)';
  const early = [...PROVE, ...warm, '--on-port', 'sleep 5', '--', process.execPath, '-e', dies];
  const died = await runBobtail(early);
  assert.equal(died.code, 69, died.stderr);
  assert.match(died.stdout, /cannot be told: \S+: it ended with exit code 5/);
});

test('of a boost that cannot be had nothing is said', async (t) => {
  if (process.getuid() !== 0) return leaveOut(t, 'needs root');
  // Beyond what the imitation has: its own process refuses.
  const args = ['boost', '--prove', '--actuator', 'emulated', '--policy', 'static:9'];
  const load = ['--rounds', '1', '--on-port', LOAD];
  const { code, stdout } = await runBobtail([...args, ...load, '--', process.execPath, CHURN]);
  assert.equal(code, 80, stdout);
  assert.match(stdout, /cannot be told: boosted: .*\nnothing was measured/);
});

test('the load is for the HTTP server, also where another one listens first', async () => {
  const script = `
    require('node:net').createServer((one) => one.destroy()).listen(0, '127.0.0.1');
    setTimeout(() => require('node:http').createServer((_, response) => response.end('ok'))
      .listen(0, '127.0.0.1'), 300);`;
  const subject = { command: [process.execPath, '-e', script], onPort: LOAD, warmupNs: 0 };
  const limits = { listenMs: 20_000, runMs: 20_000, signal: new AbortController().signal };
  const result = await runDrivenRound(subject, undrivenArm('unchanged'), limits);
  assert.equal(result.kind, 'measured', JSON.stringify(result));
});

for (const [flags, code, message] of [
  [['--prove'], 64, /--prove needs a load: --on-port/],
  [['--on-port', 'x'], 64, /this goes with --prove only \(--on-port\)/],
  [['--prove', '--on-port', 'x', '--out', 'f'], 64, /does not go with --prove.*\(--out\)/],
  [['--prove', '--on-port', 'x', '--otlp', 'y'], 64, /does not go with --prove.*\(--otlp\)/],
  [['--prove', '--on-port', 'x', '--rounds', '99'], 64, /--rounds takes at most 32 rounds \(99\)/],
  // A tree where nothing is has no lever.
  [['--prove', '--on-port', 'x', '--lever-root', '/dev/null'], 80, /nothing to prove: no lever/],
]) {
  test(`${flags.join(' ')} is refused before anything starts`, async () => {
    const command = [process.execPath, '-e', 'console.log("started")'];
    const end = await runBobtail(['boost', ...flags, '--', ...command]);
    assert.equal(end.code, code, end.stderr);
    assert.equal(end.stdout, '');
    assert.match(end.stderr, message);
  });
}

const RATIO = { a: 40e6, b: 20e6, ratio: 0.5, low: 0.4, high: 0.6, lack: null };
const ARMS = ['unchanged', 'boosted', 'A/A'].map((name) => drivenArm(name, { policy: name }));

/** The answer to a made-up proof. */
function answer(verdict) {
  const boost = { boosts: 5, boostedShare: 0.1, energyRelative: 1.1712 };
  const sample = { latencies: [[1e6, 100]], requests: 100, requestsPerS: 50, boost };
  const records = ARMS.map((arm) => ({ arm, samples: [sample], failedRounds: [], out: undefined }));
  const percentiles = [{ percentile: 50, ...RATIO }];
  const comparison = { percentiles, cpuNsPerRequest: RATIO, requestsPerS: RATIO };
  const known = { verdict, reason: 'r', percentile: 50, rounds: 1, interrupted: false };
  const proof = { ...known, effect: comparison, control: comparison, records };
  const request = {
    subject: { command: ['node', 's.js'], onPort: 'load', warmupNs: 0 },
    drive: { policy: 'boosted', actuator: 'emulated' },
    seed: 3,
  };
  return answerOf(proof, ARMS, request);
}

for (const [verdict, advice] of [
  ['helped', /^use it$/m],
  ['did-not-help', /^do not use it here: run the service as it is$/m],
  ['not-enough-samples', /^do not use it unproved/m],
]) {
  test(`${verdict} says what to do`, () => {
    const told = answer(verdict);
    assertValid('boost-proof', told);
    const text = renderProof(told, { colors: createColors(false), width: 120 });
    assert.match(text, advice);
    assert.match(text, /p50 \(judged\) +40\.0 ms +20\.0 ms +×0\.50 \[0\.40–0\.60\]/);
    assert.match(text, /EMULATED frequency.*5 boosts · energy 1\.171× \(modelled\)/);
    assert.match(text, /unchanged is static:base/);
  });
}
