/** `boost` through a bobtaild that runs already: for who has no rights; it outlives them. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { BASE, isAlive, makeTree, PEAK, startBoosted, USERSPACE, until } from './boosted.mjs';
import { load } from './load.mjs';
import { nodes } from './nodes.mjs';
import { makeFolder, PACKAGE, runBobtail } from './run-bobtail.mjs';
import { assertValid } from './schemas.mjs';

const require = createRequire(import.meta.url);
const { BOBTAILD } = require(join(PACKAGE, 'dist/cli/boost/keeper.js'));
const { findLever } = require(join(PACKAGE, 'dist/cli/boost/lever.js'));
const me = process.getuid();

/** A bobtaild for a tree of files, with what it allows to one user. */
async function startDaemon(t, { user = me, levers = ['cpufreq-min-max'], others = {} } = {}) {
  const folder = makeFolder(t);
  const tree = makeTree(makeFolder(t), [[0], [1]], others);
  const socket = join(folder, 'bobtaild.sock');
  const config = [
    `socket = "${socket}"`,
    `journal = "${join(folder, 'journal.json')}"`,
    // Nobody is taken for dead on a busy machine.
    'heartbeat_timeout_ms = 20_000',
    // Without a base that lever is given to nobody.
    ...(levers.includes('cpufreq-userspace')
      ? ['[lever.cpufreq-userspace]', `base = ${BASE}`]
      : []),
    '[[allow]]',
    `users = [${user}]`,
    `levers = ${JSON.stringify(levers)}`,
  ];
  // Whatever this user lets others write by default.
  writeFileSync(join(folder, 'bobtaild.toml'), `${config.join('\n')}\n`, { mode: 0o644 });
  const args = ['--config', join(folder, 'bobtaild.toml'), '--root', tree.root];
  const daemon = spawn(BOBTAILD, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  daemon.stderr.setEncoding('utf8').on('data', (text) => {
    log += text;
  });
  const end = async (signal) => {
    if (daemon.exitCode !== null || daemon.signalCode !== null) return;
    daemon.kill(signal);
    await once(daemon, 'exit');
  };
  t.after(() => end('SIGTERM'));
  await until('bobtaild listens', () => {
    assert.equal(daemon.exitCode, null, log);
    return existsSync(socket);
  });
  const isAt = (khz) => tree.khz(0) === khz && tree.khz(1) === khz;
  return { daemon, socket, tree, end, isAt, log: () => log };
}

const through = ({ socket }, policy) => ['--bobtaild', socket, '--policy', policy];

for (const { path: node, version } of nodes) {
  test(`${version}: collections are boosted through it, and it outlives the service`, async (t) => {
    const host = await startDaemon(t);
    const args = through(host, 'gc-boost:worth=0,hold=1ms');
    const run = await startBoosted(t, { args, node });
    assert.equal(run.keeper, undefined, 'no bobtaild of its own');
    assert.equal(await load(run.port, { count: 30 }), 30);
    run.child.kill('SIGTERM');
    const { code, stderr } = await run.ended;
    assert.equal(code, 6, stderr);
    const { lever, refused, counters, isEmulated } = run.summary();
    assert.deepEqual([lever, refused, isEmulated], ['cpufreq-min-max', null, false]);
    assert.ok(counters.boosts >= 1, JSON.stringify(counters));
    assert.deepEqual([counters.forCollection, counters.refused], [counters.boosts, 0]);
    await until('it is back', () => host.isAt(BASE));
    assert.ok(isAlive(host.daemon.pid), host.log());
  });
}

test('two services have one lever: it is back when the last of them ends', async (t) => {
  const host = await startDaemon(t);
  const args = through(host, 'static:peak');
  const [first, second] = [await startBoosted(t, { args }), await startBoosted(t, { args })];
  await until('it is raised', () => host.isAt(PEAK));
  first.child.kill('SIGTERM');
  assert.equal((await first.ended).code, 6);
  assert.ok(host.isAt(PEAK), 'the other still claims it');
  second.child.kill('SIGTERM');
  assert.equal((await second.ended).code, 6);
  await until('it is back', () => host.isAt(BASE));
});

test('it is back when the service is killed, and raised for the next', async (t) => {
  const host = await startDaemon(t);
  const args = through(host, 'static:peak');
  for (const _ of ['first', 'next']) {
    const run = await startBoosted(t, { args });
    await until('it is raised', () => host.isAt(PEAK));
    process.kill(run.pids[0], 'SIGKILL');
    await run.ended;
    await until('it is back', () => host.isAt(BASE));
  }
});

for (const signal of ['SIGTERM', 'SIGKILL']) {
  test(`it is back when bobtaild ends by ${signal}, and the service goes on`, async (t) => {
    const host = await startDaemon(t);
    const run = await startBoosted(t, { args: through(host, 'static:peak') });
    await until('it is raised', () => host.isAt(PEAK));
    await host.end(signal);
    await until('it is back', () => host.isAt(BASE));
    assert.equal(await load(run.port, { count: 3 }), 3);
    run.child.kill('SIGTERM');
    assert.equal((await run.ended).code, 6);
    assert.ok(host.isAt(BASE));
  });
}

for (const [what, rules] of [
  ['another user', { user: me + 1 }],
  ['another lever', { levers: ['uclamp'] }],
]) {
  test(`what is allowed for ${what} only is refused, and the service runs`, async (t) => {
    const host = await startDaemon(t, rules);
    const cwd = makeFolder(t);
    const args = ['boost', ...through(host, 'static:peak'), '--actuator', 'cpufreq-min-max'];
    const command = [process.execPath, '-e', 'process.stdout.write("served")'];
    const end = await runBobtail([...args, '--out', 'boost.json', '--', ...command], { cwd });
    assert.deepEqual([end.code, end.stdout], [80, 'served'], end.stderr);
    assert.match(
      end.stderr,
      /^bobtail: no lever cpufreq-min-max on this host \(bobtaild( refuses)?: .*\n$/,
    );
    const summary = JSON.parse(readFileSync(join(cwd, 'boost.json'), 'utf8'));
    assertValid('boost', summary);
    assert.match(summary.refused, /cpufreq-min-max/);
    assert.ok(host.isAt(BASE));
  });
}

test('who has no lever of its own is given the one of this machine, with a folder', async (t) => {
  const host = await startDaemon(t);
  const folder = join(makeFolder(t), 'own');
  mkdirSync(folder);
  // A tree without anything stands for a user without rights.
  const wish = { actuator: 'cpufreq', root: makeFolder(t) };
  const drive = { policy: 'static:peak', baseKhz: 2_000_000, peakKhz: 3_000_000 };
  const lever = await findLever(wish, drive, folder, host.socket);
  assert.equal(lever.refused, undefined);
  assert.deepEqual(
    [lever.drive.actuator, lever.drive.socket],
    ['cpufreq-min-max', host.socket],
    'its own bobtaild had taken the folder along',
  );
  assert.match(lever.about, /--frequencies changes nothing: those of a bobtaild are in its config/);
  assert.ok(existsSync(folder), 'processes tell there what they do');
});

test('of a bobtaild that allows to set clocks and to bound them the latter is taken', async (t) => {
  const levers = ['cpufreq-userspace', 'cpufreq-min-max'];
  const host = await startDaemon(t, { levers, others: USERSPACE });
  const run = await startBoosted(t, { args: through(host, 'static:peak') });
  await until('it is raised', () => host.isAt(PEAK));
  run.child.kill('SIGTERM');
  await run.ended;
  assert.equal(run.summary().lever, 'cpufreq-min-max');
});
