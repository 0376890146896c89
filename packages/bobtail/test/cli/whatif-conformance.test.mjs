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
 * its window it boosts nothing: of the usual 256 that were half of these requests. Those that it
 * `learns` from are not counted live; in a replay they are, with as many others at least.
 */
const CASES = [
  // A frequency of its own cannot be in turns.
  { policy: 'static:3.3', at: 50, isApart: true },
  { policy: 'static:peak', at: 50 },
  { policy: 'gc-boost', at: 95, long: '/collect' },
  { policy: 'queue-boost:window=32', at: 95, long: '/long' },
  { policy: 'combined:window=32', at: 95, long: '/long' },
  { policy: 'deadline', at: 95, long: '/long', count: 2000, learns: 1000 },
];
/** With helpers a collection is not the work of the loop's thread alone. */
const V8_FLAGS = ['--single-threaded-gc'];
const COUNT = 500;
const LEARNS = 100;
/** The imitation refuses to run where it is further off. */
const OFF_AT_MOST = 0.07;

/** What is recorded, and how long a turn must be for a group of these requests. */
async function recorded(t, node, { long, count = COUNT }) {
  const { port, folder, end } = await startRecording(t, [node, ...V8_FLAGS, WORK]);
  const asking = new Asking(t, port, long);
  await asking.count(count);
  await end();
  return { folder, eachMs: asking.turnMs() };
}

/** By how much the percentile is shorter in a replay under each of some policies. */
async function simulated(folder, policies, at) {
  const each = policies.flatMap((policy) => ['--policy', policy]);
  const { stdout } = await runBobtail(['whatif', folder, '--json', '--tail', String(at), ...each]);
  return JSON.parse(stdout).scenarios.map(({ percentiles }) => {
    return -percentiles.find(({ percentile }) => percentile === at).change;
  });
}

/**
 * How far what comes live is from what is predicted, in parts of what the base has, with the
 * interval. How much the imitated peak takes depends on the host, most of work in memory, and is no
 * policy's: what is live is told of a peak that takes what it should.
 */
function offBy(predicted, live) {
  const scale = live.peak === null ? 1 : predicted.peak / live.peak.median;
  const of = (own) => own * scale - predicted.own;
  return { median: of(live.own.median), low: of(live.own.low), high: of(live.own.high) };
}

const isNear = (off) => Math.abs(off) <= OFF_AT_MOST;

/** Whether all of the interval is near enough, or none of it, on a host that is near itself. */
function isPlain({ low, high }, apart) {
  if (!isNear(apart.median)) return false;
  return (isNear(low) && isNear(high)) || low > OFF_AT_MOST || high < -OFF_AT_MOST;
}

for (const [index, one] of CASES.entries()) {
  const node = nodes.at(-1 - (index % nodes.length));
  const { policy, at, isApart = false } = one;
  const title = `a replay under ${policy} takes of p${at} what comes live on ${node.version}`;
  test(title, { timeout: 400_000 }, async (t) => {
    if (process.getuid() !== 0) return leaveOut(t, 'needs root');
    const { folder, eachMs } = await recorded(t, node.path, one);
    const [own, peak] = await simulated(folder, [policy, 'static:peak'], at);
    const predicted = { own, peak };
    // Otherwise nothing at all would be near enough, too.
    assert.ok(own > OFF_AT_MOST, String(own));
    const isTold = (told, isLast) => isLast || isPlain(offBy(predicted, told), told.apart);
    const command = { node: node.path, script: [...V8_FLAGS, WORK] };
    const turns = isApart ? {} : { eachMs };
    const live = await beside(t, command, { learns: LEARNS, ...one, ...turns, isTold });
    const told = JSON.stringify({ predicted, live });
    t.diagnostic(told);
    assert.ok(isNear(live.apart.median), told);
    if (live.peak !== null) assert.ok(live.peak.median > peak / 2, told);
    assert.ok(isNear(offBy(predicted, live).median), told);
  });
}
