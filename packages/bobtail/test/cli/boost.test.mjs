/** `boost`: the service runs as ever, and what the policy did is told. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { leaveOut } from '../../../../workloads/harness/leave-out.mjs';
import { load } from './load.mjs';
import { nodes } from './nodes.mjs';
import { fixture } from './recordings.mjs';
import { makeFolder, PACKAGE, runBobtail, startBobtail } from './run-bobtail.mjs';
import { assertValid } from './schemas.mjs';

const require = createRequire(import.meta.url);
const { NOTHING_SEEN, renderSummary, summarize } = require(
  join(PACKAGE, 'dist/cli/boost/summary.js'),
);
const { withEnded } = require(join(PACKAGE, 'dist/cli/boost/processes.js'));
const { troubleOf } = require(join(PACKAGE, 'dist/cli/boost/boost.js'));
const { raisedSince } = require(join(PACKAGE, 'dist/cli/boost/raised.js'));
const { parseDrive } = require(join(PACKAGE, 'dist/cli/boost/flags.js'));
const CHURN = fixture('churn.mjs');
const POLICY = 'gc-boost:worth=0,hold=1ms';

/** A boosted service that collects; how it ended, and its summary. */
async function boosted(t, node, { flags = [], count = 30, ...how } = {}) {
  const cwd = makeFolder(t);
  const args = ['boost', '--actuator', 'emulated', '--policy', POLICY, '--out', 'boost.json'];
  const { child, ended, until } = startBobtail([...args, ...flags, '--', node, CHURN], {
    cwd,
    ...how,
  });
  // So that the service ends with it, and lets go of the pipes that this test reads.
  t.after(() => child.exitCode === null && child.kill('SIGTERM'));
  const [, port] = /listening (\d+)/.exec(await until(/listening \d+\n/));
  assert.equal(await load(Number(port), { count }), count);
  child.kill('SIGTERM');
  const end = await ended;
  const out = join(cwd, 'boost.json');
  const summary = existsSync(out) ? JSON.parse(readFileSync(out, 'utf8')) : undefined;
  if (summary !== undefined) assertValid('boost', summary);
  return { ...end, summary };
}

for (const { path, version } of nodes) {
  test(`${version}: collections of a service are boosted`, async (t) => {
    if (process.getuid() !== 0) return leaveOut(t, 'needs root');
    const { code, stdout, stderr, summary } = await boosted(t, path);
    // The service's own answer to SIGTERM.
    assert.equal(code, 6, stderr);
    assert.match(stdout, /^listening \d+\n$/);
    assert.equal(summary.refused, null);
    assert.equal(summary.policy, 'gc-boost:hold=1ms,worth=0');
    assert.ok(summary.isEmulated);
    const { boosts, forCollection, boostedNs, refused } = summary.counters;
    // How many is the machine's affair: one that is over before the driver runs is missed.
    assert.ok(boosts >= 1, JSON.stringify(summary));
    assert.deepEqual([forCollection, refused], [boosts, 0]);
    assert.ok(boostedNs >= boosts * 1e6 && boostedNs < summary.ranNs, JSON.stringify(summary));
    assert.match(stderr, /EMULATED frequency · [\d,]+ boosts .* energy 1\.\d+× \(modelled\)/);
  });
}

test('who may have no real-time threads runs unboosted, with the reason', async (t) => {
  if (process.getuid() !== 0) return leaveOut(t, 'needs root to drop it');
  const cwd = makeFolder(t);
  const command = ['setpriv', '--bounding-set=-sys_nice', '--', process.execPath, CHURN, 'once'];
  const args = ['boost', '--actuator', 'emulated', '--out', 'boost.json', '--', ...command];
  const { code, stderr } = await runBobtail(args, { cwd });
  assert.equal(code, 7, stderr);
  assert.match(stderr, /^ {2}not boosted: .*sched_setscheduler failed/m);
  const summary = JSON.parse(readFileSync(join(cwd, 'boost.json'), 'utf8'));
  assertValid('boost', summary);
  assert.match(summary.refused, /sched_setscheduler/);
});

test('a server in a worker thread is not boosted, and told as that', async (t) => {
  if (process.getuid() !== 0) return leaveOut(t, 'needs root');
  const made = `(${JSON.stringify(CHURN)}, { argv: ['once'] })`;
  const worker = `new (require('node:worker_threads').Worker)${made}`;
  const args = ['boost', '--actuator', 'emulated', '--', process.execPath, '-e', worker];
  const { code, stderr } = await runBobtail(args, { cwd: makeFolder(t) });
  assert.equal(code, 80, stderr);
  assert.match(stderr, /not boosted: its server listens in a worker thread/);
});

test('without a lever the service runs unboosted, with the reason', async (t) => {
  const cwd = makeFolder(t);
  // An empty tree has none, whatever this machine may have.
  const args = ['boost', '--lever-root', makeFolder(t), '--out', 'boost.json', '--'];
  for (const [ends, expected] of [
    [3, 3],
    [0, 80],
  ]) {
    const command = [process.execPath, '-e', `process.exit(${ends})`];
    const { code, stderr } = await runBobtail([...args, ...command], { cwd });
    assert.equal(code, expected, 'only a good end tells that nothing was boosted');
    assert.match(stderr, /^bobtail: no lever on this host \(.*\); the service runs unboosted\n$/);
  }
  const summary = JSON.parse(readFileSync(join(cwd, 'boost.json'), 'utf8'));
  assertValid('boost', summary);
  assert.match(summary.refused, /no lever/);
  assert.equal(summary.processes, 0);
});

for (const [what, folder] of [
  ['that is not there', '/nonexistent/place'],
  ['where nothing can be made', '/proc'],
]) {
  test(`a service runs unboosted where Bobtail's own place is one ${what}`, async () => {
    const command = [process.execPath, '-e', 'console.log("served")'];
    const env = { BOBTAIL_RUN_DIR: folder };
    const { code, stdout, stderr } = await runBobtail(['boost', '--', ...command], { env });
    assert.deepEqual([code, stdout], [80, 'served\n'], stderr);
    assert.match(
      stderr,
      /^bobtail: no place to boost from: ENOENT: .*; the service runs unboosted$/m,
    );
  });
}

test('nothing is left behind by a service that dies of a signal', async (t) => {
  const cwd = makeFolder(t);
  const command = [process.execPath, '-e', 'process.kill(process.pid, "SIGTERM")'];
  const args = ['boost', '--actuator', 'emulated', '--', ...command];
  const { signal, stderr } = await runBobtail(args, {
    cwd,
    env: { TMPDIR: cwd, BOBTAIL_RUN_DIR: cwd },
  });
  assert.equal(signal, 'SIGTERM', stderr);
  assert.deepEqual(readdirSync(cwd), []);
});

test('a server that is told to listen again and again has no listeners of ours', async (t) => {
  const cwd = makeFolder(t);
  const agent = join(PACKAGE, 'dist/agent/boost/preload.js');
  const told = { BOBTAIL_BOOST: 'null', BOBTAIL_BOOST_DIR: cwd, BOBTAIL_BOOST_LISTENING: '1' };
  const script = `
    const { createServer } = require('node:net');
    const other = createServer().listen(0, '127.0.0.1', () => {
      const server = createServer();
      let tries = 0;
      server.on('error', () => {
        tries += 1;
        if (tries === 20) {
          console.log(server.listenerCount('listening'));
          other.close();
        } else server.listen(other.address().port, '127.0.0.1');
      });
      server.listen(other.address().port, '127.0.0.1');
    });`;
  const env = { ...process.env, ...told };
  const args = ['--require', agent, '-e', script];
  const { stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
  assert.deepEqual([Number(stdout) <= 1, stderr], [true, ''], stdout);
});

for (const settings of ['{', 'null', '5']) {
  test(`a service starts with the settings ${settings}, too`, async (t) => {
    const cwd = makeFolder(t);
    const agent = join(PACKAGE, 'dist/agent/boost/preload.js');
    const env = { ...process.env, BOBTAIL_BOOST: settings, BOBTAIL_BOOST_DIR: cwd };
    const { status } = spawnSync(process.execPath, ['--require', agent, CHURN, 'once'], { env });
    assert.equal(status, 7);
  });
}

test('what never listens is told', async () => {
  const args = ['boost', '--actuator', 'emulated', '--', process.execPath, '-e', '0'];
  const { code, stderr } = await runBobtail(args);
  assert.equal(code, 0);
  assert.equal(stderr, '  not boosted: no Node.js server listened\n');
});

const EMULATED = ['--actuator', 'emulated'];
for (const [flags, message] of [
  [['--actuator', 'warp'], /'warp' is invalid/],
  [['--frequencies', '4,2'], /--frequencies takes two in GHz.*\(4,2\)/],
  [['--latency', 'soon', ...EMULATED], /--latency takes a duration from 0ns to 1s.*\(soon\)/],
  [['--latency', '2s', ...EMULATED], /--latency takes a duration from 0ns to 1s.*\(2s\)/],
  [['--latency', '1', ...EMULATED], /--latency takes a duration/],
  [['--latency', '1ms'], /--latency goes with --actuator emulated \(1ms\)/],
  [['--cpu', '0'], /--cpu goes with --actuator emulated \(0\)/],
  [[...EMULATED, '--cpu', '999'], /--cpu: this machine has no such CPU \(999\)/],
  [[...EMULATED, '--frequencies', '2.6,2.6'], /--frequencies takes two in GHz.*\(2\.6,2\.6\)/],
  [['--actuator', 'quota', '--frequencies', '2,3'], /does not go with --actuator quota \(2,3\)/],
  [['--bobtaild', 'x', '--frequencies', '2,3'], /does not go with a bobtaild, .* \(2,3\)/],
  [[...EMULATED, '--lever-root', '/'], /--lever-root goes with levers that are files \(\/\)/],
  [['--budget', '0'], /--budget takes per cent.*\(0\)/],
  [['--cpu', '-1', ...EMULATED], /--cpu takes the number of a CPU \(-1\)/],
]) {
  test(`${flags.join(' ')} is refused before anything starts`, async () => {
    const command = [process.execPath, '-e', 'console.log("started")'];
    const { code, stdout, stderr } = await runBobtail(['boost', ...flags, '--', ...command]);
    assert.equal(code, 64, stderr);
    assert.equal(stdout, '');
    assert.match(stderr, message);
    assert.equal(stderr.trim().split('\n').length, 1);
  });
}

for (const [policy, message] of [
  ['rubik', /rubik is for replays only \(bobtail whatif --policy rubik\)/],
  ['warp', /there is no policy "warp"; there are static, gc-boost/],
  ['queue-boost:k=0', /character 15: k is "0", not a number from 1 to 100/],
]) {
  for (const [how, flags, env] of [
    ['typed', ['--policy', policy], {}],
    ['of the environment', [], { BOBTAIL_POLICY: policy }],
  ]) {
    test(`a service runs without ${policy}, ${how}, and the reason is told`, async () => {
      const command = ['--', process.execPath, '-e', 'console.log("served")'];
      const { code, stdout, stderr } = await runBobtail(['boost', ...flags, ...command], { env });
      assert.deepEqual([code, stdout], [80, 'served\n'], stderr);
      assert.match(stderr, message);
      assert.match(stderr, /^bobtail: [^\n]*; the service runs unboosted\n$/);
    });
  }
}

for (const [variable, message] of [
  ['BOBTAIL_BOOST_DIR', 'this runs under another bobtail boost'],
  ['BOBTAIL_DIR', 'this runs under bobtail record'],
]) {
  test(`a command that has ${variable} is left to the other bobtail`, async (t) => {
    const env = { [variable]: makeFolder(t) };
    const script = `console.log(process.env.${variable} === '${env[variable]}')`;
    const args = ['boost', '--', process.execPath, '-e', script];
    const { code, stdout, stderr } = await runBobtail(args, { env });
    assert.deepEqual([code, stdout], [80, 'true\n'], stderr);
    assert.equal(stderr, `bobtail: ${message}; the service runs unboosted\n`);
  });
}

test('a summary that cannot be written is told before the service starts', async (t) => {
  const cwd = makeFolder(t);
  const command = [process.execPath, '-e', 'console.log("started")'];
  for (const [out, message] of [
    ['none/boost.json', /^bobtail: cannot write: no such file or folder \(none\/boost\.json\)\n$/],
    ['.', /^bobtail: cannot write: is a folder \(\.\)\n$/],
  ]) {
    const args = ['boost', '--actuator', 'emulated', '--out', out, '--', ...command];
    const { code, stdout, stderr } = await runBobtail(args, { cwd });
    assert.deepEqual([code, stdout], [73, ''], stderr);
    assert.match(stderr, message);
  }
});

test('a summary that cannot be written any more is an exit code', async (t) => {
  const cwd = makeFolder(t);
  const script = 'require("node:fs").rmSync("gone", { recursive: true })';
  for (const [ends, expected] of [
    [0, 73],
    [3, 3],
  ]) {
    mkdirSync(join(cwd, 'gone'));
    const command = [process.execPath, '-e', `${script}; process.exit(${ends})`];
    const args = ['boost', '--actuator', 'emulated', '--out', 'gone/boost.json', '--', ...command];
    const { code, stderr } = await runBobtail(args, { cwd });
    assert.equal(code, expected, stderr);
    assert.match(stderr, /bobtail: cannot write: no such file or folder \(gone\/boost\.json\)/);
  }
});

test('a policy of the environment is taken where none is typed', async () => {
  const env = { BOBTAIL_POLICY: 'queue-boost:k=0' };
  const command = ['--', process.execPath, '-e', '0'];
  const typed = ['boost', '--policy', 'gc-boost', '--actuator', 'emulated', ...command];
  const { code, stderr } = await runBobtail(typed, { env });
  assert.equal(code, 0, stderr);
});

test('frequencies are those of the lever', () => {
  const flags = {
    policy: 'static',
    actuator: 'emulated',
    frequencies: '2.6,3.3',
    latency: '0.5ms',
  };
  assert.equal('budget' in parseDrive({ ...flags, budget: 'none' }), false);
  assert.deepEqual(parseDrive({ ...flags, budget: '1.5%', cpu: '1' }), {
    policy: 'static',
    actuator: 'emulated',
    baseKhz: 2_600_000,
    peakKhz: 3_300_000,
    fullKhz: 3_300_000,
    latencyNs: 500_000,
    cpu: 1,
    budget: 0.015,
  });
});

const COUNTERS = {
  looks: 1,
  lookingNs: 20e3,
  boosts: 4,
  boostedNs: 250e6,
  forCollection: 3,
  forQueueLength: 0,
  forHead: 1,
  forLongTurn: 0,
  refused: 0,
  lostNs: 0,
};

/** Of a process that tells all it is asked for. */
const TELLER = { key: '1-1', namespace: '', missing: [] };

const DRIVEN = {
  ...TELLER,
  driven: {
    ...{ policy: 'p', lever: 'emulated', about: 'a', isEmulated: true },
    ...{ base: 2_600_000, peak: 4_000_000 },
  },
  ranNs: 1e9,
  counters: COUNTERS,
  hold: { lost: null, isLost: false },
};

/** As in the tests of the policies' model of energy. */
const POWER_AT_3 = 1.363375302523;

function summaryOf(base, peak, policy = 'p') {
  const file = { ...DRIVEN, pid: 7, driven: { ...DRIVEN.driven, policy, base, peak } };
  return summarize({ policy: 'p', actuator: 'emulated' }, [
    { ...TELLER, pid: 8, refused: 'other' },
    file,
  ]);
}

test('who is not boosted is told beside who is, but for a thread of the same process', () => {
  const file = { ...DRIVEN, pid: 7 };
  const of = (...files) => {
    const summary = summarize({ policy: 'p', actuator: 'emulated' }, files);
    assertValid('boost', summary);
    const { processes, refused, refusedProcesses, ranNs, drivenNs } = summary;
    return [processes, refused, refusedProcesses, ranNs, drivenNs];
  };
  const [no, thread] = [8, 7].map((pid) => ({ ...TELLER, pid, refused: 'too many' }));
  assert.deepEqual(of(thread, file), [1, null, 0, 1e9, 1e9]);
  assert.deepEqual(of(no, file, { ...file, pid: 9 }), [2, 'too many', 1, 1e9, 2e9]);
  assert.deepEqual(of(no, thread), [0, 'too many', 2, 0, 0]);
});

test('a lever that refuses every change has boosted nothing', () => {
  const of = (counters) => {
    const file = { ...DRIVEN, pid: 7, counters: { ...COUNTERS, ...counters } };
    return troubleOf(summarize({ policy: 'p', actuator: 'emulated' }, [file]));
  };
  assert.equal(of({ boosts: 0, refused: 3 }), 'notBoosted');
  assert.equal(of({ boosts: 0, refused: 0 }), 'ok', 'nothing to boost');
  assert.equal(of({ boosts: 1, refused: 3 }), 'ok');
});

test('what was driven without a lever counts as time without a boost', () => {
  const file = { ...DRIVEN, pid: 7 };
  const of = (counters, hold, raised = []) => {
    const driven = { ...file, counters: { ...COUNTERS, ...counters }, hold };
    const seen = { ...NOTHING_SEEN, raised };
    const summary = summarize({ policy: 'p', actuator: 'emulated' }, [driven, file], seen);
    assertValid('boost', summary);
    return summary;
  };
  const lost = { lost: 'gone', isLost: true };
  const raised = { lever: 'emulated', domain: { cpus: [0] }, raisedNs: 450e6, ofNs: 0.5e9 };
  const gone = of({ lostNs: 0.5e9 }, lost, [raised]);
  assert.equal(gone.boostedShare, 0.45, 'of the whole second');
  assert.deepEqual([gone.lost, gone.isLost, gone.energy], ['gone', true, null]);
  assert.equal(troubleOf(gone), 'notBoosted');
  assert.match(renderSummary(gone)[1], / of all processes together, to the end: gone$/);
  const ofAll = { ...raised, raisedNs: 200e6, ofNs: 1e9 };
  const late = of({ lostNs: 0.1e9, boostedNs: 900e6 }, lost, [ofAll]);
  assert.equal(late.boostedShare, 0.2, 'as who moves it says, where he has seen all of it');
  assert.match(renderSummary(late)[0], /boosted 200 ms \(20\.0 %\)/);
  assert.equal(late.raisedNs, 200e6);
  const without = { ...file, pid: 9, counters: { ...COUNTERS, lostNs: 1e6 }, hold: lost };
  const past = withEnded([], without);
  const other = summarize({ policy: 'p', actuator: 'emulated' }, [...past, file]);
  assert.deepEqual([other.isLost, other.lost, troubleOf(other)], [false, 'gone', 'ok']);
  const own = of({ lostNs: 0.5e9, boostedNs: 900e6 }, lost);
  assert.equal(own.boostedShare, 0.575, 'as each process counts, where nobody else tells');
  const short = of({ lostNs: 10e6 }, { lost: 'gone', isLost: false }, [raised]);
  assert.equal(troubleOf(short), 'ok');
  assert.notEqual(short.energy, null, 'of a hundredth of the time it does not matter');
  assert.match(
    renderSummary(short)[1],
    /^had no lever for 10\.0 ms of all processes together: gone$/,
  );
});

test('those that ended are put together by what they drove, or why they did not', () => {
  const lost = { lost: 'gone', isLost: true };
  const ended = [
    { ...DRIVEN, pid: 7 },
    { ...DRIVEN, pid: 8, ranNs: 3e9, hold: lost },
    { ...TELLER, pid: 9, refused: 'no' },
    { ...TELLER, pid: 10, refused: 'no' },
    { ...DRIVEN, pid: 11, missing: ['latencies: full'] },
  ];
  const past = ended.reduce(withEnded, []);
  assert.equal(past.length, 3);
  const now = { ...DRIVEN, pid: 12 };
  const summary = summarize({ policy: 'p', actuator: 'emulated' }, [...past, now]);
  assertValid('boost', summary);
  const { processes, refusedProcesses, ranNs, drivenNs, counters, isLost, missing } = summary;
  assert.deepEqual([processes, refusedProcesses], [4, 2]);
  assert.deepEqual([ranNs, drivenNs, counters.boosts, isLost], [3e9, 6e9, 16, false]);
  assert.equal(summary.lost, 'gone');
  assert.deepEqual(missing, ['latencies: full']);
  assert.ok(renderSummary(summary).includes('not seen: latencies: full'));
});

test('where nobody tells anything, why is told by who is silent', () => {
  const drive = { policy: 'p', actuator: 'emulated' };
  const silence = { pid: 9, why: 'of another user' };
  const summary = summarize(drive, [], { ...NOTHING_SEEN, silence });
  assertValid('boost', summary);
  assert.deepEqual([summary.refused, troubleOf(summary)], ['of another user', 'notBoosted']);
  const nobody = summarize(drive, []);
  assert.deepEqual([nobody.refused, troubleOf(nobody)], ['no Node.js server listened', 'ok']);
});

test('a lever that processes share is up as long as one of them wants it', () => {
  const files = [7, 9].map((pid) => ({ ...DRIVEN, pid }));
  files[0].driven = { ...DRIVEN.driven, base: 2_600_000, peak: 4_000_000 };
  const of = (...raised) =>
    summarize({ policy: 'p', actuator: 'emulated' }, files, { ...NOTHING_SEEN, raised });
  assert.equal(of().boostedShare, 0.25, 'each for itself');
  const clock = (cpu, raisedNs) => ({
    ...{ lever: 'emulated', domain: { cpus: [cpu] } },
    ...{ raisedNs, ofNs: 1e9 },
  });
  const summary = of(clock(0, 300e6), clock(1, 500e6));
  assert.equal(summary.boostedShare, 0.4);
  assert.equal(summary.energy.relativeToBase, 1 + 1.712 * 0.4);
  const before = [clock(0, 100e6)];
  const after = [{ ...clock(0, 250e6), ofNs: 1.5e9 }, clock(1, 500e6)];
  const since = raisedSince(before, after).map(({ raisedNs, ofNs }) => [raisedNs, ofNs]);
  assert.deepEqual(since, [
    [150e6, 0.5e9],
    [500e6, 1e9],
  ]);
});

test('energy is the model of the paper where a frequency is held, else untold', () => {
  const summary = summaryOf(2_600_000, 4_000_000);
  assertValid('boost', summary);
  assert.deepEqual(summary.energy, { kind: 'modelled', relativeToBase: 1 + 1.712 * 0.25 });
  assert.equal(summaryOf(2_600_000, 3_300_000).energy.relativeToBase, 1 + 0.676 * 0.25);
  // Between the paper's points as replays have it: `relative_power(3 / 2.6)` of the policies.
  const between = summaryOf(2_600_000, 3_000_000).energy.relativeToBase;
  assert.ok(Math.abs(between - (1 + (POWER_AT_3 - 1) * 0.25)) < 1e-9, `${between}`);
  assert.equal(summaryOf(1_300_000, 2_000_000).energy.relativeToBase, 1 + 1.712 * 0.25);
  const energyAt = (policy) => summaryOf(2_600_000, 4_000_000, policy).energy;
  assert.equal(energyAt('static:3.3').relativeToBase, 1 + 0.676 * 0.25, 'not to the peak');
  assert.equal(energyAt('static:9').relativeToBase, 1 + 1.712 * 0.25, 'no further than the peak');
  assert.equal(energyAt('static:3').relativeToBase, between);
  const quota = { lever: 'quota', isEmulated: false, base: 60_000, peak: 80_000 };
  const driven = { ...DRIVEN.driven, ...quota };
  const other = summarize({ policy: 'p', actuator: 'quota' }, [
    { ...TELLER, pid: 8, refused: 'other' },
    { ...DRIVEN, pid: 7, driven },
  ]);
  assert.equal(other.energy, null);
  assert.deepEqual(renderSummary(other), [
    'quota · 4 boosts · boosted 250 ms (25.0 %)',
    '1 process not boosted: other',
    'p · 3 for collections · 1 for a long event · 1 look of 20.0 µs',
    'a',
  ]);
});
