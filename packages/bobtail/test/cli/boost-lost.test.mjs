/** `boost` whose lever is lost, or in another's hand: it is told then, and not counted. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { leaveOut } from '../../../../workloads/harness/leave-out.mjs';
import { BASE, isAlive, makeGroup, makeTree, startBoosted, USERSPACE, until } from './boosted.mjs';
import { load } from './load.mjs';
import { fixture } from './recordings.mjs';
import { makeFolder, PACKAGE } from './run-bobtail.mjs';

const require = createRequire(import.meta.url);
const { Troubles } = require(join(PACKAGE, 'dist/cli/boost/troubles.js'));
/** Ends well when it is told to. */
const WELL = [fixture('churn.mjs'), 'well'];
const LOST_MS = 3_000;

function onTree(tree, policy) {
  const levers = ['--actuator', 'cpufreq-userspace', '--frequencies', '2.6,4'];
  return [...levers, '--lever-root', tree.root, '--policy', policy];
}

/** Ends its bobtaild for good; how the boost ended some seconds later. */
async function loseKeeper(run, signal = 'SIGKILL') {
  await sleep(1_000);
  process.kill(run.keeper, signal);
  await until('it is told', () => run.seen.stderr.includes('not boosted from now on: '));
  const [line] = run.seen.stderr.split('\n').filter((one) => one.includes('from now on'));
  assert.equal(await load(run.port, { count: 3 }), 3, 'the service goes on');
  await sleep(LOST_MS);
  run.child.kill('SIGTERM');
  return { line, ...(await run.ended), summary: run.summary() };
}

for (const [quiet, signal] of [
  [[], 'SIGKILL'],
  [['-q'], 'SIGKILL'],
  [[], 'SIGTERM'],
]) {
  test(`a bobtaild that ends is told when it does (${quiet.join('')} ${signal})`, async (t) => {
    const tree = makeTree(makeFolder(t), [[0], [1]], USERSPACE);
    const run = await startBoosted(t, {
      args: [...quiet, ...onTree(tree, 'static:peak')],
      script: WELL,
    });
    const { code, stderr, line, summary } = await loseKeeper(run, signal);
    const [who, what, why] = line.split(': ', 4).slice(1);
    assert.match(who, /^process \d+ is not boosted from now on$/);
    assert.equal(what, 'cpufreq-userspace is not available');
    assert.match(line, /bobtaild/, why);
    assert.equal(code, 80, stderr);
    const { boostedShare, energy, isLost, lost, ranNs, counters } = summary;
    const shownNs = ranNs - counters.lostNs;
    assert.ok(isLost && counters.lostNs > LOST_MS * 1e6, JSON.stringify(summary));
    assert.ok(Math.abs(boostedShare - shownNs / ranNs) < 0.1, JSON.stringify(summary));
    assert.ok(boostedShare < 0.6, JSON.stringify(summary));
    assert.equal(energy, null, 'what was used without it is not known');
    assert.ok(line.includes(lost));
    assert.equal(/no lever for [\d.]+ s, to the end: /.test(stderr), quiet.length === 0, stderr);
    assert.equal(tree.khz(), BASE);
  });
}

test('what was done is told though bobtaild is ended with the command', async (t) => {
  const tree = makeTree(makeFolder(t), [[0], [1]], USERSPACE);
  const run = await startBoosted(t, { args: onTree(tree, 'static:peak'), script: WELL });
  await sleep(1_000);
  for (const pid of [run.keeper, run.child.pid]) process.kill(pid, 'SIGTERM');
  const { stderr } = await run.ended;
  const { lever, counters, boostedShare } = run.summary();
  assert.deepEqual([lever, counters.boosts], ['cpufreq-userspace', 1], stderr);
  assert.ok(boostedShare > 0.8, `${boostedShare}`);
  assert.equal(run.folder(), undefined, 'nothing is left behind');
});

test('an emulated frequency ends with its bobtaild, and that is told', async (t) => {
  if (process.getuid() !== 0) return leaveOut(t, 'needs root');
  const args = ['--actuator', 'emulated', '--policy', 'static:base'];
  const run = await startBoosted(t, { args, script: WELL });
  const { code, stderr, line, summary } = await loseKeeper(run);
  assert.match(
    line,
    /emulated is not available: the bobtaild of the command that boosts has ended/,
  );
  assert.equal(code, 80, stderr);
  assert.deepEqual([summary.isLost, summary.energy], [true, null]);
});

test('a bobtaild that hangs is told, and what it never answered is no boost', async (t) => {
  const tree = makeTree(makeFolder(t), [[0], [1]], USERSPACE);
  const args = onTree(tree, 'gc-boost:worth=0,hold=1ms');
  const run = await startBoosted(t, { args, script: WELL });
  process.kill(run.keeper, 'SIGSTOP');
  t.after(() => isAlive(run.keeper) && process.kill(run.keeper, 'SIGCONT'));
  await load(run.port, { count: 30 });
  const isTold = () => /not boosted from now on: .*does not answer within/.test(run.seen.stderr);
  await until('it is told', isTold);
  process.kill(run.keeper, 'SIGCONT');
  await until('it is over', () => run.seen.stderr.includes('is boosted again'));
  run.child.kill('SIGTERM');
  const { code, stderr } = await run.ended;
  assert.equal(code, 80, stderr);
  const { counters, boostedShare, energy } = run.summary();
  assert.ok(counters.lostNs > 0 && boostedShare < 0.01, stderr);
  assert.deepEqual([counters.boosts, energy], [0, null], stderr);
});

/** Never rests: all of its group's quota is used, and what is beyond that owed. */
const BUSY = `
  const server = require('node:http').createServer((_, response) => response.end());
  process.on('SIGTERM', () => process.exit(0));
  const work = () => {
    const end = Date.now() + 20;
    while (Date.now() < end);
    setImmediate(work);
  };
  server.listen(0, '127.0.0.1', () => {
    console.log('listening ' + server.address().port);
    work();
  });
`;

test('a quota whose credit has ended is told as no boost', async (t) => {
  if (process.getuid() !== 0) return leaveOut(t, 'needs root');
  const group = makeGroup(t, 'credit');
  const args = ['--actuator', 'quota', '--policy', 'static:peak'];
  const run = await startBoosted(t, { args, script: ['-e', BUSY], group });
  await sleep(3_000);
  run.child.kill('SIGTERM');
  const { code, stderr } = await run.ended;
  assert.equal(code, 0, stderr);
  const { counters, boostedShare, ranNs } = run.summary();
  // It may be ahead by the quota of one period, which two CPUs use up in some ms.
  assert.ok(boostedShare < 0.1, `${boostedShare}`);
  assert.ok(counters.boostedNs < 0.1 * ranNs && counters.refused >= 1, JSON.stringify(counters));
});

test('a clock in the hand of another boost is told from the start, and is no boost', async (t) => {
  const tree = makeTree(makeFolder(t), [[0], [1]], USERSPACE);
  const other = await startBoosted(t, { args: onTree(tree, 'static:base') });
  const { ended, seen, child, summary } = await startBoosted(t, {
    args: onTree(tree, 'static:peak'),
    script: WELL,
  });
  await until('it is told', () =>
    /not boosted from now on: .*another process holds/.test(seen.stderr),
  );
  await sleep(1_000);
  child.kill('SIGTERM');
  const { code, stderr } = await ended;
  assert.equal(code, 80, stderr);
  const { counters, boostedShare, isLost } = summary();
  assert.deepEqual([counters.boosts, counters.boostedNs, boostedShare, isLost], [0, 0, 0, true]);
  assert.ok(counters.refused >= 5, 'asked again all the time');
  assert.ok(isAlive(other.pids[0]));
});

for (const policy of ['static:1', 'static:0.1', 'static:9']) {
  test(`an emulated frequency is never at ${policy}, and the service runs without`, async (t) => {
    if (process.getuid() !== 0) return leaveOut(t, 'needs root');
    const args = ['--actuator', 'emulated', '--policy', policy];
    const run = await startBoosted(t, { args, script: WELL });
    const why = 'is not between the base of 2600000 kHz and the peak of 4000000 kHz';
    await until('it is told', () => run.seen.stderr.includes(why));
    run.child.kill('SIGTERM');
    const { code, stderr } = await run.ended;
    assert.equal(code, 80, stderr);
    assert.deepEqual([run.summary().lever, run.summary().energy], [null, null]);
  });
}

test('each trouble is told once, and that it is over', () => {
  const lines = [];
  const troubles = new Troubles((line) => lines.push(line));
  const refused = (pid, why) => ({ pid, refused: why });
  const held = (pid, lost = null) => ({ pid, driven: {}, hold: { lost, isLost: lost !== null } });
  troubles.see([refused(1, 'a'), refused(2, 'a'), refused(3, 'b'), held(4), held(5)]);
  troubles.see([refused(1, 'a'), held(4, 'gone'), held(5, 'gone')]);
  troubles.see([held(4, 'gone'), held(5)]);
  troubles.see([held(4), held(5, 'gone again')]);
  assert.deepEqual(lines, [
    'bobtail: process 1 is not boosted: a',
    'bobtail: process 3 is not boosted: b',
    'bobtail: process 4 is not boosted from now on: gone',
    'bobtail: process 5 is boosted again',
    'bobtail: process 4 is boosted again',
    'bobtail: process 5 is not boosted from now on: gone again',
  ]);
});
