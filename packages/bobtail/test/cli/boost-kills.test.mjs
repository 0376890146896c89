/**
 * A worker of a service killed in the middle of its boost, again and again: none leaves the lever
 * raised. `BOBTAIL_KILLS=1000` for the figures of docs/design/acting.md.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { BASE, freePort, makeTree, PEAK, startBoosted, until } from './boosted.mjs';
import { get } from './load.mjs';
import { fixture } from './recordings.mjs';
import { makeFolder } from './run-bobtail.mjs';

const KILLS = Number(process.env.BOBTAIL_KILLS ?? 50);
const ANSWER_MS = 500;
const CLUSTER = fixture('boosted-cluster.mjs');
/** Longer than it takes to see a boost and to kill: it is killed inside it. */
const POLICY = 'gc-boost:worth=0,hold=1s';

/** Has the worker collect until the lever is raised; gives its process. */
function untilBoosted({ port, tree }) {
  let pid;
  return until('a collection is boosted', async () => {
    // A connection that was on its way to the worker that was killed is answered by nobody.
    const answer = get(port, '/', false).catch(() => 0);
    pid = Number(await Promise.race([answer, sleep(ANSWER_MS, 0)])) || pid;
    return tree.khz() === PEAK && pid;
  });
}

test(`${KILLS} workers killed while they boost leave nothing raised`, async (t) => {
  const tree = makeTree(makeFolder(t), [[0, 1]]);
  const args = ['--actuator', 'cpufreq', '--lever-root', tree.root, '--policy', POLICY];
  // With its last worker a cluster gives up a port that it was given.
  const script = [CLUSTER, 'primary', '1', await freePort()];
  const run = { tree, ...(await startBoosted(t, { args, script })) };
  const timesMs = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    const pid = await untilBoosted(run);
    const killedMs = performance.now();
    process.kill(pid, 'SIGKILL');
    await until('the lever is back', () => tree.khz() === BASE);
    timesMs.push(performance.now() - killedMs);
  }
  run.child.kill('SIGTERM');
  assert.equal((await run.ended).code, 6);
  assert.equal(tree.khz(), BASE);
  timesMs.sort((a, b) => a - b);
  const at = (share) => timesMs[Math.floor((timesMs.length - 1) * share)].toFixed(1);
  t.diagnostic(`until it was back: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms`);
});
