/** `bobtail doctor`: the answer is valid, and says no where it has to. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { leaveOut } from '../../../../workloads/harness/leave-out.mjs';
import { BASE, makeGroup, makeTree, USERSPACE } from './boosted.mjs';
import { nodes } from './nodes.mjs';
import { MAIN, makeFolder, PACKAGE, runBobtail } from './run-bobtail.mjs';
import { assertValid } from './schemas.mjs';

const require = createRequire(import.meta.url);
const { readCpuQuota } = require(join(PACKAGE, 'dist/cli/doctor/host.js'));

test('this Node can be recorded', async () => {
  const result = await runBobtail(['doctor', '--json']);
  const diagnosis = JSON.parse(result.stdout);
  assertValid('doctor', diagnosis);
  const [node] = diagnosis.nodes;
  assert.deepEqual(
    { ok: node.ok, version: node.version, execPath: node.execPath, reason: node.reason },
    { ok: true, version: process.version, execPath: process.execPath, reason: null },
  );
  assert.ok(node.mechanisms.length > 0);
  assert.deepEqual(diagnosis.analysis, { ok: true, reason: null });
  assert.equal(result.code, 0);
  assert.equal(result.stderr, '');
});

test('every lever is told, with why not; those of a tree are only opened', async (t) => {
  const { root, khz } = makeTree(makeFolder(t));
  const { stdout } = await runBobtail(['doctor', '--json', '--lever-root', root]);
  const { levers } = JSON.parse(stdout);
  assert.deepEqual([levers.reason, levers.chosen], [null, 'cpufreq-min-max']);
  const told = Object.fromEntries(levers.found.map((one) => [one.kind, one]));
  assert.deepEqual(Object.keys(told), [
    'cpufreq-userspace',
    'cpufreq-min-max',
    'intel-min-perf',
    'energy-preference',
    'uclamp',
    'quota',
    'burst',
    'emulated',
  ]);
  for (const { kind, ok, reason, selfTest } of levers.found) {
    assert.equal(ok, reason === null, kind);
    assert.equal(selfTest, null, 'nothing is measured there');
  }
  assert.match(told['cpufreq-userspace'].reason, /userspace/);
  assert.match(told['cpufreq-min-max'].about, /acpi-cpufreq/);
  assert.equal(khz(), BASE);
  assert.deepEqual(
    levers.energy.map(({ kind, ok }) => [kind, ok]),
    [
      ['rapl', false],
      ['modelled', true],
    ],
  );
});

test('what holds a frequency without a boost is told, and is not what boost takes', async (t) => {
  const { root } = makeTree(makeFolder(t), [[0]], USERSPACE);
  const { stdout } = await runBobtail(['doctor', '--json', '--lever-root', root]);
  const { levers } = JSON.parse(stdout);
  assert.deepEqual([levers.found[0].kind, levers.found[0].ok], ['cpufreq-userspace', true]);
  assert.equal(levers.chosen, 'cpufreq-min-max');
});

test('a quota is tried and is back', async (t) => {
  if (process.getuid() !== 0) return leaveOut(t, 'needs root');
  const group = makeGroup(t, 'doctor');
  const enter = `echo $$ > ${group.tasks}; exec "$0" "$@"`;
  const args = ['-c', enter, process.execPath, MAIN, 'doctor', '--json'];
  const { stdout, stderr } = spawnSync('sh', args, { encoding: 'utf8' });
  const diagnosis = JSON.parse(stdout || `"${stderr}"`);
  assertValid('doctor', diagnosis);
  const quota = diagnosis.levers.found.find(({ kind }) => kind === 'quota');
  assert.deepEqual([quota.ok, quota.reason], [true, null]);
  assert.equal(diagnosis.host.cpuQuota, 0.3, 'of its own group, not of the first');
  // How much more the group gets is not told where the machine is too busy to give it.
  assert.equal(quota.selfTest.expected, 2);
  assert.ok(quota.latency.changes > 0 && quota.latency.p50Ns > 0);
  assert.deepEqual([group.quota(), group.burst()], ['30000', '0']);
});

test('the quota that is told is the least along the groups of either version', (t) => {
  const root = makeFolder(t);
  const told = join(root, 'groups');
  const put = (path, text) => {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), `${text}\n`);
  };
  const quota = (groups) => {
    writeFileSync(told, groups);
    return readCpuQuota(root, told);
  };
  put('a/cpu.max', '150000 100000');
  put('a/b/cpu.max', 'max 100000');
  put('cpu/x/cpu.cfs_quota_us', '20000');
  put('cpu/x/cpu.cfs_period_us', '50000');
  put('cpu/cpu.cfs_quota_us', '-1');
  put('cpu/cpu.cfs_period_us', '100000');
  assert.equal(quota('0::/a/b\n'), 1.5);
  assert.equal(quota('3:cpu,cpuacct:/x/not-there\n0::/a\n'), 0.4);
  assert.equal(quota('3:cpu,cpuacct:/\n'), null, 'no limit is -1');
  assert.equal(quota('3:memory:/x\n'), null);
  assert.equal(readCpuQuota(root, join(root, 'none')), null);
});

test('the Node to try may have options', async () => {
  const node = [process.execPath, '--no-deprecation'];
  const result = await runBobtail(['doctor', '--json', '--', ...node]);
  assert.deepEqual(JSON.parse(result.stdout).nodes[0].command, node);
  assert.equal(result.code, 0);
});

test('what is not Node.js is told as such', async () => {
  const result = await runBobtail(['doctor', '--', 'true']);
  assert.equal(result.code, 69);
  assert.match(result.stdout, /recording +no +not Node\.js/);
});

test('a missing command is an error', async () => {
  const result = await runBobtail(['doctor', '--', 'no-such-node']);
  assert.equal(result.code, 127);
  assert.equal(result.stderr, 'bobtail: command not found (no-such-node)\n');
  assert.equal(result.stdout, '');
});

/** What the agent and the probe try, by the names that people see; in the order of their lists. */
const MECHANISMS = [
  'listening',
  'next ticks',
  'microtasks',
  'timer callbacks',
  'loop events',
  'thread pool',
  'runs of the timer list',
  'code locations',
  'garbage collections',
  'steps of incremental marking',
  'compilation',
  'functions made of text',
  'inline-cache misses',
  'worker threads',
  'messages between threads',
  'child processes',
  'agent queue',
  'es module imports',
  'client libraries',
  'async resources',
  'timer due times',
  'http2 servers',
  'time not running',
  'ready times',
  'http requests',
  'http2 requests',
  'promises',
];

for (const { path, version } of nodes) {
  test(`every mechanism is told, and why one is missing (${version})`, async () => {
    const { stdout } = await runBobtail(['doctor', '--json', '--', path]);
    const { mechanisms } = JSON.parse(stdout).nodes[0];
    const names = mechanisms.map(({ name }) => name);
    for (const name of MECHANISMS) assert.ok(names.includes(name), `${name} in ${names.join()}`);
    assert.equal(new Set(names).size, names.length, 'each once');
    for (const { name, ok, reason } of mechanisms) {
      assert.ok(ok ? reason === undefined : reason.length > 0, `${name}: ${reason}`);
    }
    const text = await runBobtail(['doctor', '--', path]);
    for (const name of names) assert.ok(text.stdout.includes(`  ${name} `), name);
  });
}
