/**
 * One body, two arms: what a speed takes of the median, as a replay predicts it, and as it comes at
 * the imitated frequency.
 *
 * Of policies that decide, the tail of a minute says little; `bench/boost` has those.
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
const POLICIES = ['static:3.3', 'static:peak'];
const COUNT = 500;
const WARM_UP = 100;
/** The imitation refuses to run where it is further off. */
const OFF_AT_MOST = 0.07;
const ATTEMPTS = 4;

/** Asks one after the other: nobody waits for anybody, so that the median is one request's work. */
const ask = (port, count) => load(Number(port), { count, connections: 1 });

async function recorded(t, node) {
  const recording = await startRecording(t, [node, WORK]);
  await ask(recording.port, COUNT);
  await recording.end();
  return recording.folder;
}

/** By how much the median is shorter in a replay. */
async function simulated(folder, policy) {
  const { stdout } = await runBobtail(['whatif', folder, '--json', '--policy', policy]);
  const { percentiles } = JSON.parse(stdout).scenarios[0];
  return -percentiles.find(({ percentile }) => percentile === 50).change;
}

/** The median under a policy, live. */
async function medianNs(t, node, policy) {
  const cwd = makeFolder(t);
  const boost = ['boost', '--actuator', 'emulated', '--policy', policy, '--out', 'boost.json'];
  const { child, ended, until } = startBobtail([...boost, '--', node, WORK], { cwd });
  t.after(() => child.exitCode === null && child.kill('SIGKILL'));
  const [, port] = /listening (\d+)/.exec(await until(/listening \d+\n/));
  await ask(port, WARM_UP + COUNT);
  child.kill('SIGTERM');
  const { code, stderr } = await ended;
  const summary = JSON.parse(readFileSync(join(cwd, 'boost.json'), 'utf8'));
  assert.equal(summary.refused, null, `${code}: ${stderr}`);
  return summary.requests.percentilesNs['50'];
}

/** By how much it is shorter than the base around it, live; and how far two bases are apart. */
async function live(t, node, policy) {
  const before = await medianNs(t, node, BASE);
  const ownNs = await medianNs(t, node, policy);
  const after = await medianNs(t, node, BASE);
  return { less: 1 - (2 * ownNs) / (before + after), apart: Math.abs(after / before - 1) };
}

for (const [index, policy] of POLICIES.entries()) {
  const node = nodes.at(-1 - index) ?? nodes[0];
  const title = `a replay under ${policy} takes of the median what comes live on ${node.version}`;
  test(title, { timeout: 240_000 }, async (t) => {
    if (process.getuid() !== 0) return leaveOut(t, 'needs root');
    const predicted = await simulated(await recorded(t, node.path), policy);
    for (let attempt = 1; ; attempt += 1) {
      const { less, apart } = await live(t, node.path, policy);
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
