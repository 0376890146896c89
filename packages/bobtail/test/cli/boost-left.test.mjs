/** `boost` that cannot put a lever back: it is told, and who goes on trying finds the journal. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { BASE, isAlive, keeperOf, makeTree, PEAK, startBoosted, until } from './boosted.mjs';
import { fixture } from './recordings.mjs';
import { makeFolder, PACKAGE, runBobtail } from './run-bobtail.mjs';

const require = createRequire(import.meta.url);
const { Keeper } = require(join(PACKAGE, 'dist/cli/boost/keeper.js'));
const CHURN = fixture('churn.mjs');

/** Takes a CPU's file away, as the kernel does when it goes offline; gives what brings it back. */
function takeOffline(tree, policy) {
  const path = tree.min(policy);
  renameSync(path, `${path}.offline`);
  return () => renameSync(`${path}.offline`, path);
}

/** Until the guard has put back CPU 0, and has written that to its journal, its last act. */
async function putBack(tree, journal) {
  await until('the guard puts it back', () => tree.khz(0) === BASE);
  await until('nothing is listed', () => {
    return JSON.parse(readFileSync(journal, 'utf8')).entries.length === 0;
  });
}

async function boostedTree(t, how = {}) {
  const tree = makeTree(makeFolder(t));
  const args = ['--actuator', 'cpufreq', '--lever-root', tree.root, '--policy', 'static:peak'];
  const run = await startBoosted(t, { args, ...how });
  await until('it is raised', () => tree.khz(0) === PEAK && tree.khz(1) === PEAK);
  return { tree, run };
}

for (const [script, code] of [
  [[CHURN, 'well'], 82],
  [[CHURN], 6],
]) {
  test(`what is left raised is told, and put back later (exit code ${code})`, async (t) => {
    const { tree, run } = await boostedTree(t, { script });
    const bringBack = takeOffline(tree, 0);
    run.child.kill('SIGTERM');
    const end = await run.ended;
    assert.equal(end.code, code, end.stderr);
    const folder = run.folder();
    const journal = join(folder, 'journal.json');
    const [line] = end.stderr.split('\n').filter((one) => one.includes('not put back'));
    assert.ok(line.startsWith('bobtail: not put back: cpufreq-min-max of CPU 0; '), line);
    assert.ok(line.includes(journal), line);
    assert.equal(tree.khz(1), BASE);
    bringBack();
    await putBack(tree, journal);
  });
}

test('a proof tells what is left raised by its exit code', async (t) => {
  const cwd = makeFolder(t);
  const tree = makeTree(makeFolder(t));
  const path = tree.min(0);
  // The load of the only round takes the CPU away where it is raised.
  const load = `${process.execPath} ${join(PACKAGE, 'test/tune/fixtures/load.mjs')} 30`;
  const taken = `grep -q ${PEAK} '${path}' && mv '${path}' '${path}.offline'`;
  const args = ['boost', '--prove', '--actuator', 'cpufreq', '--lever-root', tree.root];
  const more = ['--policy', 'static:peak', '--rounds', '1', '--on-port', `${load}; ${taken}; true`];
  const command = ['--', process.execPath, CHURN];
  const env = { TMPDIR: cwd, BOBTAIL_RUN_DIR: cwd };
  const end = await runBobtail([...args, ...more, ...command], { cwd, env });
  assert.equal(end.code, 82, JSON.stringify(end));
  assert.match(end.stderr, /^bobtail: not put back: cpufreq-min-max of CPU 0; /m);
  const [left] = readdirSync(cwd);
  const journal = join(cwd, left, 'journal.json');
  assert.ok(existsSync(journal));
  renameSync(`${path}.offline`, path);
  await putBack(tree, journal);
});

test('a bobtaild that does not answer is not waited for', async (t) => {
  const folder = makeFolder(t);
  const tree = makeTree(makeFolder(t));
  // Whoever opens it waits for a writer.
  const online = join(tree.root, 'sys/devices/system/cpu/online');
  rmSync(online);
  assert.equal(spawnSync('mkfifo', [online]).status, 0);
  const args = ['--lever', 'cpufreq', '--root', tree.root];
  const told = await Keeper.start(folder, args, 300);
  assert.equal(told, 'bobtaild did not answer within 0.3 s');
  await until('it has ended', () => keeperOf(folder) === undefined);
});

/** The guard of the bobtaild that has its things in a folder. */
function guardOf(folder) {
  const journal = join(folder, 'journal.json');
  return until('there is a guard', () => {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return pids.map(Number).find((pid) => {
      const words = isAlive(pid) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0') : [];
      return words.includes('--guard-of') && words.includes(journal);
    });
  });
}

test('what was killed with its bobtaild and guard is put back by the next boost', async (t) => {
  const { tree, run } = await boostedTree(t);
  const folder = run.folder();
  const guard = await guardOf(folder);
  // As with a control group: none of them has time to do anything about the others.
  for (const pid of [run.keeper, guard, run.child.pid]) process.kill(pid, 'SIGSTOP');
  for (const pid of [run.keeper, guard, run.child.pid]) process.kill(pid, 'SIGKILL');
  process.kill(run.pids[0], 'SIGKILL');
  await until('all have ended', () => ![run.keeper, guard, run.child.pid].some(isAlive));
  assert.deepEqual([tree.khz(0), tree.khz(1)], [PEAK, PEAK]);
  const args = ['boost', '--lever-root', makeFolder(t), '--', process.execPath, '-e', '0'];
  const how = { cwd: run.cwd, env: { BOBTAIL_RUN_DIR: run.cwd } };
  const next = await runBobtail(args, how);
  const told = 'put back what was left: cpufreq-min-max of CPU 0, cpufreq-min-max of CPU 1';
  assert.equal(next.stderr.split('\n')[0], `bobtail: ${told}`);
  assert.deepEqual([tree.khz(0), tree.khz(1)], [BASE, BASE]);
  assert.ok(!existsSync(folder));
});

test('a boost leaves alone what another one holds', async (t) => {
  const { tree, run } = await boostedTree(t);
  const args = ['boost', '--lever-root', makeFolder(t), '--', process.execPath, '-e', '0'];
  const how = { cwd: run.cwd, env: { BOBTAIL_RUN_DIR: run.cwd } };
  const next = await runBobtail(args, how);
  assert.doesNotMatch(next.stderr, /put back/);
  assert.deepEqual([tree.khz(0), tree.khz(1)], [PEAK, PEAK]);
  // Neither the folder of a command that has no bobtaild any more, but runs on.
  process.kill(run.keeper, 'SIGKILL');
  await until('it is back', () => tree.khz(0) === BASE && tree.khz(1) === BASE);
  await runBobtail(args, how);
  assert.ok(existsSync(run.folder()));
});
