/**
 * One body, two arms: what a speed takes of the median, and what policies that decide take of the
 * long requests among short ones, as a replay predicts it, and as it comes at the imitated
 * frequency.
 *
 * One request at a time, so that a percentile is one request's work. The tails of services under
 * load take many rounds to tell: `bench/boost` has those.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leaveOut } from '../../../../workloads/harness/leave-out.mjs';
import { Asking, beside } from './base-and-policy.mjs';
import { nodes } from './nodes.mjs';
import { fixture, startRecording } from './recordings.mjs';
import { runBobtail } from './run-bobtail.mjs';

const WORK = fixture('counted-work.cjs');
/**
 * Each with the percentile in the middle of the requests that it is about. Before a policy has seen
 * its window it boosts nothing: of the usual 256 that were half of these requests. What it `learns`
 * from is not counted live, and a small part of what is recorded.
 */
const CASES = [
  // Of those with a frequency of their own no two are in turns.
  { policy: 'static:3.3', at: 50 },
  { policy: 'static:peak', at: 50, eachMs: 40 },
  { policy: 'gc-boost', at: 95, long: '/collect', eachMs: 90 },
  { policy: 'queue-boost:window=32', at: 95, long: '/long', eachMs: 170 },
  { policy: 'combined:window=32', at: 95, long: '/long', eachMs: 170 },
  { policy: 'deadline', at: 95, long: '/long', eachMs: 170, count: 2000, learns: 1000 },
];
/** With helpers a collection is not the work of the loop's thread alone. */
const V8_FLAGS = ['--single-threaded-gc'];
const COUNT = 500;
const LEARNS = 100;
/** The imitation refuses to run where it is further off. */
const OFF_AT_MOST = 0.07;
/** Of an interval to either side: if it is no wider, its median decides. */
const KNOWN_TO = 0.03;

async function recorded(t, node, { long, count = COUNT }) {
  const recording = await startRecording(t, [node, ...V8_FLAGS, WORK]);
  await new Asking(t, recording.port, long).count(count);
  await recording.end();
  return recording.folder;
}

/** By how much the percentile is shorter in a replay under each of some policies. */
async function simulated(folder, policies, at) {
  const each = policies.flatMap((policy) => ['--policy', policy]);
  const { stdout } = await runBobtail(['whatif', folder, '--json', '--tail', String(at), ...each]);
  return JSON.parse(stdout).scenarios.map(({ percentiles }) => {
    return -percentiles.find(({ percentile }) => percentile === at).change;
  });
}

/** Whether more rounds would most likely tell the same of how far off a prediction is. */
function isTold({ low, high, median }, apart) {
  // A host on which the same is that far from itself tells nothing of either.
  if (Math.abs(apart) > OFF_AT_MOST) return false;
  const isNear = low >= -OFF_AT_MOST && high <= OFF_AT_MOST;
  const isFar = low > OFF_AT_MOST || high < -OFF_AT_MOST;
  return isNear || isFar || Math.max(median - low, high - median) <= KNOWN_TO;
}

for (const [index, one] of CASES.entries()) {
  const node = nodes.at(-1 - (index % nodes.length));
  const { policy, at } = one;
  const title = `a replay under ${policy} takes of p${at} what comes live on ${node.version}`;
  test(title, { timeout: 400_000 }, async (t) => {
    if (process.getuid() !== 0) return leaveOut(t, 'needs root');
    const folder = await recorded(t, node.path, one);
    const [own, peak] = await simulated(folder, [policy, 'static:peak'], at);
    // Otherwise nothing at all would be near enough, too.
    assert.ok(own > OFF_AT_MOST, String(own));
    // How much the imitated peak takes of work in memory depends on the host, and is no policy's.
    const off = (live) => live.own - (live.peak === null ? own : (own / peak) * live.peak);
    const command = { node: node.path, script: [...V8_FLAGS, WORK] };
    const live = await beside(t, command, { learns: LEARNS, ...one, off, isTold });
    const told = JSON.stringify({ predicted: { own, peak }, live });
    t.diagnostic(told);
    assert.ok(Math.abs(live.off.median) <= OFF_AT_MOST, told);
  });
}
