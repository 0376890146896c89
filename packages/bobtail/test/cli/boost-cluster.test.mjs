/** `boost` of clusters: every worker claims the lever, and none keeps a claim beyond its end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leaveOut } from '../../../../workloads/harness/leave-out.mjs';
import {
  BASE,
  freePort,
  isAlive,
  makeTree,
  PEAK,
  parentOf,
  startBoosted,
  until,
} from './boosted.mjs';
import { get } from './load.mjs';
import { nodes } from './nodes.mjs';
import { fixture } from './recordings.mjs';
import { makeFolder } from './run-bobtail.mjs';

const CLUSTER = fixture('boosted-cluster.mjs');

/** A cluster at a frequency of a tree of files, with all its workers driving. */
async function boostedCluster(t, { node, policy, how = 'primary', workers = 2, policies }) {
  const tree = makeTree(makeFolder(t), policies);
  const args = ['--actuator', 'cpufreq', '--lever-root', tree.root, '--policy', policy];
  const script = [CLUSTER, how, String(workers), ...(how === 'own' ? [await freePort()] : [])];
  const run = await startBoosted(t, { args, node, script });
  await until('all workers drive', () => run.drivers().length >= workers);
  // A primary ends with EPIPE where a worker is killed before it could be told that it listens.
  await until('all workers listen', () => run.listening() >= workers);
  return { tree, ...run };
}

async function stop(run) {
  run.child.kill('SIGTERM');
  return run.ended;
}

for (const { path: node, version } of nodes) {
  const major = Number(/^v(\d+)/.exec(version)[1]);
  // Sockets of one port of their own (`reusePort`) came with Node 23.
  for (const how of ['primary', 'shared', ...(major >= 24 ? ['own'] : [])]) {
    test(`${version}: every worker drives, also one in place of another (${how})`, async (t) => {
      const run = await boostedCluster(t, { node, how, policy: 'static:peak' });
      const { tree } = run;
      await until('it is raised', () => tree.khz(0) === PEAK && tree.khz(1) === PEAK);
      const [first, second] = run.drivers();
      process.kill(first, 'SIGKILL');
      await until('another one drives', () => run.drivers().length >= 3);
      await until('the others claim it', () => tree.khz(0) === PEAK);
      process.kill(second, 'SIGKILL');
      await until('another one drives', () => run.drivers().length >= 4);
      await until('it is raised again', () => tree.khz(0) === PEAK);
      const pids = run.drivers();
      const ofEnded = (name) => name.includes(`-${first}-`) || name.includes(`-${second}-`);
      await until('nothing is left of those that ended', () => !run.filesNow().some(ofEnded));
      const { code, stderr } = await stop(run);
      assert.equal(code, 6, stderr);
      assert.deepEqual([tree.khz(0), tree.khz(1)], [BASE, BASE]);
      const { processes, lever } = run.summary();
      assert.deepEqual([processes >= 4, lever], [true, 'cpufreq-min-max']);
      await until('no worker is left', () => !pids.some(isAlive));
    });
  }
}

for (const [what, policies] of [
  ['per core', [[0], [1]]],
  ['chip-wide', [[0, 1]]],
]) {
  test(`a worker's death gives its claim back: ${what}`, async (t) => {
    // A single worker, and nobody in its place until the test has looked: it is stopped first.
    const run = await boostedCluster(t, { policy: 'static:peak', workers: 1, policies });
    const { tree } = run;
    await until('it is raised', () => tree.khz(0) === PEAK);
    const [worker] = run.drivers();
    const primary = parentOf(worker);
    process.kill(primary, 'SIGSTOP');
    process.kill(worker, 'SIGKILL');
    await until('its claim is given back', () => tree.khz(0) === BASE);
    process.kill(primary, 'SIGCONT');
    await until('who takes its place claims anew', () => tree.khz(0) === PEAK);
    await stop(run);
    assert.equal(tree.khz(0), BASE);
  });
}

test('a worker that is stopped loses its claim, and has it again when it goes on', async (t) => {
  const run = await boostedCluster(t, { policy: 'static:peak', workers: 1 });
  const { tree } = run;
  await until('it is raised', () => tree.khz(0) === PEAK);
  const [worker] = run.drivers();
  process.kill(worker, 'SIGSTOP');
  await until('silence ends its claim', () => tree.khz(0) === BASE);
  process.kill(worker, 'SIGCONT');
  await until('it claims anew', () => tree.khz(0) === PEAK);
  await stop(run);
  assert.equal(tree.khz(0), BASE);
});

const COLLECTIONS = 'gc-boost:worth=0,hold=1ms';

/** Every worker collects. */
async function loadBoth({ port }) {
  const answered = new Set();
  await until('both have answered', async () => {
    answered.add(await get(port, '/', false));
    return answered.size >= 2;
  });
  for (let n = 0; n < 60; n += 1) await get(port, `/${n}`, false);
}

test('workers boost by their own loops', async (t) => {
  const run = await boostedCluster(t, { policy: COLLECTIONS });
  await loadBoth(run);
  await stop(run);
  const { counters, processes, boostedShare, ranNs } = run.summary();
  assert.ok(processes >= 2, `${processes}`);
  // One request at a time: their boosts hardly overlap, and the one clock is up for all of them.
  const ofClaims = (boostedShare * ranNs) / counters.boostedNs;
  assert.ok(ofClaims > 0.7 && ofClaims <= 1.05, `${ofClaims}`);
  // Workers end after their primary: what they did since the last second is told, too.
  assert.ok(counters.boosts >= 1, JSON.stringify(counters));
  assert.deepEqual([counters.forCollection, counters.refused], [counters.boosts, 0]);
  assert.equal(run.tree.khz(0), BASE);
});

for (const { path: node, version } of nodes) {
  test(`${version}: workers share an emulated frequency, and it ends with them`, async (t) => {
    if (process.getuid() !== 0) return leaveOut(t, 'needs root');
    const args = ['--actuator', 'emulated', '--policy', COLLECTIONS];
    const run = await startBoosted(t, { args, node, script: [CLUSTER, 'primary', '2'] });
    await until('all workers drive', () => run.drivers().length >= 2);
    await loadBoth(run);
    const { code, stderr } = await stop(run);
    assert.equal(code, 6, stderr);
    const { counters, processes, isEmulated, refused } = run.summary();
    assert.deepEqual([isEmulated, refused, processes >= 2], [true, null, true]);
    assert.ok(counters.boosts >= 1, JSON.stringify(counters));
    assert.deepEqual([counters.forCollection, counters.refused], [counters.boosts, 0]);
    assert.match(stderr, /EMULATED frequency · \d+ processes · \d+ boosts/);
    await until('who imitated it has ended', () => !isAlive(run.keeper));
  });
}
