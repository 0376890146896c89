/**
 * One body, two arms: what a speed takes of the median, and what policies that decide take of the
 * long requests among short ones, as a replay predicts it, and as it comes at the imitated
 * frequency.
 *
 * One request at a time, so that a percentile is one request's work. The tails of services under
 * load take many rounds to tell: `bench/boost` has those.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { leaveOut } from '../../../../workloads/harness/leave-out.mjs';
import { load } from './load.mjs';
import { nodes } from './nodes.mjs';
import { fixture, startRecording } from './recordings.mjs';
import { makeFolder, runBobtail, startBobtail } from './run-bobtail.mjs';

const WORK = fixture('counted-work.cjs');
const BASE = 'static:base';
/**
 * Each with the percentile in the middle of the requests that it is about. Before a policy has seen
 * its window it boosts nothing: of the usual 256 that were half of these requests.
 */
const CASES = [
  { policy: 'static:3.3', at: 50 },
  { policy: 'static:peak', at: 50 },
  { policy: 'gc-boost', at: 95, long: '/collect' },
  { policy: 'queue-boost:window=32', at: 95, long: '/long' },
  { policy: 'combined:window=32', at: 95, long: '/long' },
  { policy: 'deadline', at: 95, long: '/long', count: 2000 },
];
/** One of ten is long: p95 is the median of these. */
const LONG_EVERY = 10;
/** With helpers a collection is not the work of the loop's thread alone. */
const V8_FLAGS = ['--single-threaded-gc'];
const COUNT = 500;
const WARM_UP = 100;
/** The imitation refuses to run where it is further off. */
const OFF_AT_MOST = 0.07;
const ATTEMPTS = 4;

/** Asks one after the other: nobody waits, so that a percentile is one request's work. */
function ask(port, count, long) {
  const mixed = (n) => (n % LONG_EVERY === 0 ? long : '/short');
  const path = long === undefined ? () => '/' : mixed;
  return load(Number(port), { count, connections: 1, path });
}

async function recorded(t, node, { long, count = COUNT }) {
  const recording = await startRecording(t, [node, ...V8_FLAGS, WORK]);
  await ask(recording.port, count, long);
  await recording.end();
  return recording.folder;
}

/** By how much the percentile is shorter in a replay. */
async function simulated(folder, { policy, at }) {
  const tail = ['--tail', String(at)];
  const { stdout } = await runBobtail(['whatif', folder, '--json', ...tail, '--policy', policy]);
  const { percentiles } = JSON.parse(stdout).scenarios[0];
  return -percentiles.find(({ percentile }) => percentile === at).change;
}

/** The percentile of a case under its policy, live. */
async function latencyNs(t, node, { policy, at, long, count = COUNT }) {
  const cwd = makeFolder(t);
  const boost = [
    'boost',
    '--actuator',
    'emulated',
    '--policy',
    policy,
    '--out',
    'boost.json',
    '--',
  ];
  const command = [node, ...V8_FLAGS, WORK];
  const { child, ended, until } = startBobtail([...boost, ...command], { cwd });
  t.after(() => child.exitCode === null && child.kill('SIGKILL'));
  const [, port] = /listening (\d+)/.exec(await until(/listening \d+\n/));
  await ask(port, WARM_UP + count, long);
  child.kill('SIGTERM');
  const { code, stderr } = await ended;
  const summary = JSON.parse(readFileSync(join(cwd, 'boost.json'), 'utf8'));
  assert.equal(summary.refused, null, `${code}: ${stderr}`);
  return summary.requests.percentilesNs[at];
}

/** By how much it is shorter than the base around it, live; and how far two bases are apart. */
async function live(t, node, one) {
  const before = await latencyNs(t, node, { ...one, policy: BASE });
  const ownNs = await latencyNs(t, node, one);
  const after = await latencyNs(t, node, { ...one, policy: BASE });
  return { less: 1 - (2 * ownNs) / (before + after), apart: Math.abs(after / before - 1) };
}

for (const [index, one] of CASES.entries()) {
  const node = nodes.at(-1 - (index % nodes.length));
  const { policy, at } = one;
  const title = `a replay under ${policy} takes of p${at} what comes live on ${node.version}`;
  test(title, { timeout: 240_000 }, async (t) => {
    if (process.getuid() !== 0) return leaveOut(t, 'needs root');
    const predicted = await simulated(await recorded(t, node.path, one), one);
    // Otherwise nothing at all would be near enough, too.
    assert.ok(predicted > OFF_AT_MOST, String(predicted));
    for (let attempt = 1; ; attempt += 1) {
      const { less, apart } = await live(t, node.path, one);
      const told = JSON.stringify({ predicted, less, apart });
      t.diagnostic(told);
      // A host on which the same is that far from itself tells nothing of either.
      if (apart < OFF_AT_MOST) {
        assert.ok(Math.abs(predicted - less) <= OFF_AT_MOST, told);
        return;
      }
      assert.ok(attempt < ATTEMPTS, told);
    }
  });
}
