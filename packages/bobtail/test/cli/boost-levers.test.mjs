/** `boost` at real levers: quota and burst of this machine, a frequency of a tree of files. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { leaveOut } from '../../../../workloads/harness/leave-out.mjs';
import {
  BASE,
  isAlive,
  makeGroup,
  makeTree,
  PEAK,
  read,
  startBoosted,
  USERSPACE,
  until,
} from './boosted.mjs';
import { load } from './load.mjs';
import { nodes } from './nodes.mjs';
import { makeFolder, runBobtail } from './run-bobtail.mjs';
import { assertValid } from './schemas.mjs';

const GC = 'gc-boost:worth=0,hold=1ms';
const isRoot = process.getuid() === 0;

/** A boosted frequency on a tree of files. */
async function boostedTree(t, { policy = 'static:peak', policies, ...how } = {}) {
  const tree = makeTree(makeFolder(t), policies);
  const args = ['--actuator', 'cpufreq', '--lever-root', tree.root, '--policy', policy];
  return { tree, ...(await startBoosted(t, { args, ...how })) };
}

for (const { path: node, version } of nodes) {
  test(`${version}: the quota of its group is raised while it collects`, async (t) => {
    if (!isRoot) return leaveOut(t, 'needs root');
    const group = makeGroup(t, version);
    const args = ['--actuator', 'quota', '--policy', GC];
    const run = await startBoosted(t, { args, node, group });
    assert.ok(!group.pids().includes(run.keeper), 'who raises it is not held back by it');
    assert.equal(await load(run.port, { count: 30 }), 30);
    run.child.kill('SIGTERM');
    const { code, stderr } = await run.ended;
    assert.equal(code, 6, stderr);
    const { lever, refused, counters, isEmulated, energy } = run.summary();
    assert.deepEqual([lever, refused, isEmulated, energy], ['quota', null, false, null]);
    // It collects more than its credit lasts for: what is beyond that is refused, and told.
    assert.ok(counters.boosts >= 1 && counters.lostNs === 0, JSON.stringify(counters));
    assert.match(stderr, /quota · [\d,]+ boosts?/);
    assert.equal(group.quota(), '30000');
    assert.equal(isAlive(run.keeper), false);
  });
}

test('a raised quota is seen by the kernel, and is back when the service is killed', async (t) => {
  if (!isRoot) return leaveOut(t, 'needs root');
  const group = makeGroup(t, 'killed');
  const args = ['--actuator', 'quota', '--policy', 'static:peak'];
  const run = await startBoosted(t, { args, group });
  await until('it is raised', () => group.quota() === '60000');
  process.kill(run.pids[0], 'SIGKILL');
  const { signal, code } = await run.ended;
  assert.ok(signal === 'SIGKILL' || code === 137, `${signal} ${code}`);
  assert.equal(group.quota(), '30000');
});

test('burst is what auto takes last, and it is put back', async (t) => {
  if (!isRoot) return leaveOut(t, 'needs root');
  const group = makeGroup(t, 'burst');
  const args = ['--actuator', 'burst', '--policy', 'static:peak'];
  const run = await startBoosted(t, { args, group });
  await until('it is raised', () => group.burst() === '30000');
  run.child.kill('SIGTERM');
  assert.equal((await run.ended).code, 6);
  assert.equal(run.summary().lever, 'burst');
  assert.equal(group.burst(), '0');
});

test('auto takes the best there is and says why nothing better', async (t) => {
  if (!isRoot) return leaveOut(t, 'needs root');
  const group = makeGroup(t, 'auto');
  const run = await startBoosted(t, { args: ['--policy', GC], group });
  run.child.kill('SIGTERM');
  const { code, stderr } = await run.ended;
  assert.equal(code, 6);
  // A machine of one's own may have better ones.
  const { lever } = run.summary();
  assert.match(stderr, new RegExp(`^bobtail: lever ${lever}: `));
  if (lever === 'quota') assert.match(stderr, /cpufreq-min-max: no cpufreq policy/);
});

for (const { path: node, version } of nodes) {
  test(`${version}: a frequency is raised, and back when the service ends`, async (t) => {
    const run = await boostedTree(t, { node });
    await until('it is raised', () => run.tree.khz(0) === PEAK && run.tree.khz(1) === PEAK);
    run.child.kill('SIGTERM');
    assert.equal((await run.ended).code, 6);
    assert.deepEqual([run.tree.khz(0), run.tree.khz(1)], [BASE, BASE]);
    assert.equal(run.summary().lever, 'cpufreq-min-max');
    assert.equal(run.folder(), undefined);
  });
}

test('a frequency goes up for collections and down after them', async (t) => {
  const run = await boostedTree(t, { policy: 'gc-boost:worth=0,hold=20ms' });
  const loading = load(run.port, { count: 2000 });
  await until('it is raised', () => run.tree.khz() === PEAK);
  await until('it is lowered', () => run.tree.khz() === BASE);
  run.child.kill('SIGTERM');
  await run.ended;
  await loading;
  const { counters } = run.summary();
  assert.deepEqual([counters.forCollection, counters.refused], [counters.boosts, 0]);
});

for (const [what, victim] of [
  ['the service', (run) => run.pids[0]],
  ['the command', (run) => run.child.pid],
  ['bobtaild', (run) => run.keeper],
]) {
  test(`a frequency is back when ${what} is killed`, async (t) => {
    const run = await boostedTree(t);
    await until('it is raised', () => run.tree.khz(0) === PEAK && run.tree.khz(1) === PEAK);
    process.kill(victim(run), 'SIGKILL');
    await until('it is back', () => run.tree.khz(0) === BASE && run.tree.khz(1) === BASE);
    if (what === 'the command') {
      await until('its folder is gone', () => run.folder() === undefined);
      await until('bobtaild has ended', () => !isAlive(run.keeper));
      assert.ok(isAlive(run.pids[0]), 'the service goes on');
    }
    // Its bobtaild has the lever in its hand for a second more, and the tree goes with the test.
    if (what === 'the service') await run.ended;
  });
}

test('a frequency that was asked for is held and not exceeded', async (t) => {
  const tree = makeTree(makeFolder(t));
  const args = ['--actuator', 'cpufreq', '--lever-root', tree.root, '--policy', 'static:base'];
  const run = await startBoosted(t, { args: [...args, '--frequencies', '2.6,3.3'] });
  await until('it is at base', () => tree.khz() === '2600000');
  run.child.kill('SIGTERM');
  await run.ended;
  assert.equal(tree.khz(), BASE);
});

for (const [flags, lever] of [
  [['--actuator', 'auto'], 'cpufreq-min-max'],
  [['--actuator', 'cpufreq'], 'cpufreq-min-max'],
  [['--actuator', 'cpufreq', '--frequencies', '2.6,4'], 'cpufreq-userspace'],
  [['--actuator', 'cpufreq-userspace'], 'cpufreq-userspace'],
]) {
  test(`${flags.join(' ')} where clocks can be set takes ${lever}`, async (t) => {
    const tree = makeTree(makeFolder(t), [[0], [1]], USERSPACE);
    const args = [...flags, '--lever-root', tree.root, '--policy', 'static:base'];
    const run = await startBoosted(t, { args });
    run.child.kill('SIGTERM');
    const { code, stderr } = await run.ended;
    assert.equal(code, 6, stderr);
    assert.equal(run.summary().lever, lever);
    const isTold = /\(cpufreq-userspace: holds its base between boosts; /.test(stderr);
    assert.equal(isTold, lever !== 'cpufreq-userspace', stderr);
    assert.deepEqual([tree.khz(0), tree.khz(1)], [BASE, BASE]);
  });
}

test('where the lever has no frequencies a service that asks for one runs without', async (t) => {
  const cwd = makeFolder(t);
  const tree = makeTree(makeFolder(t), [[0]], {
    scaling_driver: 'amd-pstate-epp',
    energy_performance_preference: 'balance_power',
    energy_performance_available_preferences: 'default performance balance_power power',
  });
  const lever = ['--actuator', 'energy-preference', '--lever-root', tree.root];
  const command = [process.execPath, '-e', 'console.log("started")'];
  for (const [more, printed, ending] of [
    [[], 'started\n', '; the service runs unboosted'],
    [['--prove', '--on-port', 'true'], '', ''],
  ]) {
    const args = ['boost', ...lever, '--policy', 'static:2.6', ...more, '--', ...command];
    const env = { TMPDIR: cwd, BOBTAIL_RUN_DIR: cwd };
    const { code, stdout, stderr } = await runBobtail(args, { cwd, env });
    assert.deepEqual([code, stdout], [80, printed], stderr);
    const why = 'static:2.6: the lever energy-preference has no frequencies, it takes static:base';
    assert.ok(stderr.includes(`${why} and static:peak${ending}\n`), stderr);
    assert.equal(stderr.trim().split('\n').length, 1);
    assert.deepEqual(readdirSync(cwd), []);
  }
});

test('without the bobtaild that was named nothing is boosted', async (t) => {
  const cwd = makeFolder(t);
  const socket = join(cwd, 'nobody.sock');
  const args = ['boost', '--bobtaild', socket, '--out', 'boost.json'];
  const command = [process.execPath, '-e', 'process.exit(0)'];
  const { code, stderr } = await runBobtail([...args, '--', ...command], { cwd });
  assert.equal(code, 80, 'it ended well and was not boosted');
  const why = `cannot connect to ${socket}: No such file or directory`;
  const line = `no lever on this host (bobtaild: ${why}); the service runs unboosted`;
  assert.equal(stderr, `bobtail: ${line}\n`);
  const summary = JSON.parse(readFileSync(join(cwd, 'boost.json'), 'utf8'));
  assertValid('boost', summary);
  assert.match(summary.refused, /No such file/);
});

test('a lever that this host has not is told by its name', async (t) => {
  const cwd = makeFolder(t);
  const tree = makeTree(makeFolder(t));
  for (const [actuator, why] of [
    ['intel-pstate', /intel-min-perf: the cpufreq driver is acpi-cpufreq/],
    ['amd-pstate', /energy-preference: the cpufreq driver is acpi-cpufreq/],
    ['cpufreq-userspace', /cpufreq-userspace: /],
  ]) {
    const args = ['boost', '--actuator', actuator, '--lever-root', tree.root];
    const command = [process.execPath, '-e', 'process.exit(3)'];
    const { code, stderr } = await runBobtail([...args, '--', ...command], { cwd });
    assert.equal(code, 3, 'its own trouble goes first');
    assert.match(stderr, why);
    assert.equal(stderr.trim().split('\n').length, 1);
  }
  assert.equal(read(tree.min(0)), BASE);
});
