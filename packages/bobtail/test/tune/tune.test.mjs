/** `bobtail tune` with real services: what flags do, what is out and why, what is wrong. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { seededRandom, shuffled } from '../../dist/prove/shuffle.js';
import { nodes } from '../cli/nodes.mjs';
import { makeFolder, PACKAGE, runBobtail, startBobtail } from '../cli/run-bobtail.mjs';
import { assertValid } from '../cli/schemas.mjs';

const CHURN = join(PACKAGE, 'test/tune/fixtures/churn.cjs');
const LOAD = join(PACKAGE, 'test/tune/fixtures/load.mjs');
const load = (count) => `${process.execPath} ${LOAD} ${count}`;
const short = (count = 40) => ['--on-port', load(count), '--rounds', '1', '--proof-rounds', '1'];
const scavengesOf = (arm) => arm.rounds[0].gc.find(({ kind }) => kind === 'scavenge').pauses;

/** The oldest and the newest: their heaps differ most. */
const ends = [...new Set([nodes[0], nodes.at(-1)])];

for (const { path, version } of ends) {
  test(`a larger semi-space means fewer scavenges, a tiny heap is out (${version})`, async () => {
    const tries = [
      '--max-semi-space-size=1',
      '--min-semi-space-size=32 --max-semi-space-size=32',
      '--max-old-space-size=2',
    ].map((flags) => `--try=${flags}`);
    const { stdout, stderr, code } = await runBobtail([
      ...['tune', '--json', '--memory', '1g', '--seed', '5', ...short(), ...tries],
      ...['--', path, CHURN],
    ]);
    assert.equal(code, 0, stderr);
    const answer = JSON.parse(stdout);
    assertValid('tune', answer);
    const { arms } = answer.races[0];
    const [unchanged, control, small, large, tiny] = arms;
    assert.deepEqual([unchanged.name, control.name], ['unchanged', 'A/A']);
    // 40 requests of some megabytes each: a semi-space of 1 MiB is filled by each of them.
    assert.ok(scavengesOf(small) > 2 * scavengesOf(large), `${scavengesOf(small)}`);
    assert.equal(tiny.out.of, 'service');
    assert.match(tiny.out.reason, /memory|heap/i);
    assert.match(stderr, /out: --max-old-space-size=2: it .*(memory|heap)/i);
    assert.equal(answer.recommendation, null, 'one round proves nothing');
    assert.equal(answer.unchanged.node, version);
    for (const arm of arms.slice(0, 4)) {
      assert.ok(arm.rounds[0].requests === 40 && arm.rounds[0].cpuNsPerRequest > 0, arm.name);
      assert.ok(arm.rounds[0].peakRssBytes > 2 ** 24, arm.name);
    }
  });
}

test('behind a shell flags go by NODE_OPTIONS, and the answer has no colours', async () => {
  const tries = ['--try=--max-semi-space-size=64', '--try=--v8-pool-size=1'];
  const { stdout, stderr, code } = await runBobtail([
    ...['tune', '--quiet', '--memory', '1g', ...short(), ...tries],
    ...['--', 'sh', '-c', `exec ${process.execPath} ${CHURN}`],
  ]);
  assert.equal(code, 0, stderr);
  assert.equal(stderr, '');
  assert.match(stdout, /not enough samples|nothing that was tried was faster/);
  assert.match(stdout, /every run recorded with --detail loop/);
  assert.doesNotMatch(stdout, /did not reach/);
  assert.ok(!stdout.includes('\x1b'));
});

const CASES = [
  ['without a load', ['--', 'node', CHURN], 64, /required option '--on-port <command>'/],
  ['too many rounds', [...short(), '--rounds', '33', '--', 'node', CHURN], 64, /at most 32 rounds/],
  ['an empty try', [...short(), '--try', ' ', '--', 'node', CHURN], 64, /--try needs flags/],
  [
    'a flag that its Node does not have',
    [...short(), '--try=--max-semi-spaec-size=3', '--', process.execPath, CHURN],
    64,
    /^bobtail: Node\.js v\d+\.\d+\.\d+ has no such flag \(--max-semi-spaec-size=3\)$/,
  ],
  [
    'a flag that cannot reach the service',
    [...short(), '--try=--single-threaded-gc', '--', 'sh', '-c', `${process.execPath} ${CHURN}`],
    64,
    /^bobtail: --try: it cannot stand in NODE_OPTIONS/,
  ],
  [
    'a service that never listens',
    [...short(), '--', process.execPath, CHURN, 'mute'],
    69,
    /^bobtail: the unchanged service: it ended with exit code 3 \(/,
  ],
  [
    'a service that dies under the load',
    [...short(), '--', process.execPath, CHURN, 'die'],
    69,
    /it ended with exit code 1: TypeError: it was asked to die \(/,
  ],
  [
    'a load that fails',
    ['--on-port', 'echo no such host >&2; exit 9', '--', process.execPath, CHURN],
    71,
    /the load command failed with exit code 9 .*: no such host/,
  ],
  [
    'a load that fails of a service that answers SIGTERM with 5',
    ['--on-port', 'echo no such host >&2; exit 9', '--', process.execPath, CHURN, 'cross'],
    71,
    /the load command failed with exit code 9 .*: no such host/,
  ],
  [
    'a value that V8 does not take and goes on without',
    [...short(), '--try=--max-semi-space-size=-5', '--', process.execPath, CHURN],
    64,
    /--try: Value for flag --max-semi-space-size=-5 of type size_t is out of bounds/,
  ],
  [
    'a value that ends Node',
    [...short(), '--try=--max-old-space-size=abc', '--', process.execPath, CHURN],
    64,
    /--try: illegal value for flag --max-old-space-size=abc of type size_t/,
  ],
  [
    'a load that sends too little',
    [...short(3), '--', process.execPath, CHURN],
    67,
    /a round needs 20 requests, the load sent 3/,
  ],
  [
    'a load that is cut off before it sent enough',
    ['--on-port', load('forever'), '--duration', '0.7', '--', process.execPath, CHURN],
    67,
    /a round needs 20 requests, the load sent 1/,
  ],
  [
    'a budget below what the service needs',
    [...short(), '--memory', '128m', '--', process.execPath, CHURN, '--heavy'],
    77,
    /the unchanged service used \d+ MiB of 128 MiB/,
  ],
  ['no such command', [...short(), '--', 'no-such-command'], 127, /command not found/],
];

for (const [what, args, code, line] of CASES) {
  test(`${what}: one line and exit code ${code}`, async () => {
    const result = await runBobtail(['tune', '--quiet', ...args]);
    assert.equal(result.code, code, result.stderr);
    assert.equal(result.stdout, '');
    assert.equal(result.stderr.trim().split('\n').length, 1, result.stderr);
    assert.match(result.stderr.trim(), line);
  });
}

test('a load that fails with the unchanged service as A/A ends a race with that', async (t) => {
  const cwd = makeFolder(t);
  const seed = 3;
  const order = shuffled(['unchanged', 'A/A', 'try'], seededRandom(seed));
  // The calibration is the first run, and what fails is tried once more.
  const first = 2 + order.indexOf('A/A');
  const count = 'n=$(($(cat n 2>/dev/null || echo 0) + 1)); echo $n > n';
  const failing = `${count}; [ $n -lt ${first} ] || [ $n -gt ${first + 1} ] || exit 9; ${load(40)}`;
  const tries = ['--try=--max-semi-space-size=4', '--rounds', '5', '--seed', String(seed)];
  const args = ['tune', '--quiet', '--memory', '1g', '--on-port', failing, ...tries];
  const end = await runBobtail([...args, '--', process.execPath, CHURN], { cwd });
  assert.equal(end.code, 71, end.stderr);
  assert.match(
    end.stderr,
    /^bobtail: the unchanged service: the load command failed with exit code 9/,
  );
});

test('a service may answer SIGTERM as it likes', async () => {
  const tries = ['--try=--max-semi-space-size=4'];
  const args = ['tune', '--quiet', '--memory', '1g', ...short(), ...tries];
  const { code, stderr } = await runBobtail([...args, '--', process.execPath, CHURN, 'cross']);
  assert.equal(code, 0, stderr);
});

/** Live processes whose command line has `text`. */
function running(text) {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
    } catch (error) {
      // It ended meanwhile.
      return error.code !== 'ENOENT' && error.code !== 'ESRCH';
    }
  });
}

test('Ctrl-C ends what runs, prints what is known, and is the end', async (t) => {
  const marker = `--marker-${process.pid}`;
  const folder = makeFolder(t);
  const { child, until, ended } = startBobtail(
    [
      ...['tune', '--json', '--memory', '1g', '--on-port', `${load(40)} ${marker}`],
      ...[
        '--try=--max-semi-space-size=64',
        '--rounds',
        '32',
        '--',
        process.execPath,
        CHURN,
        marker,
      ],
    ],
    { env: { TMPDIR: folder } },
  );
  await until(/round 2 of at most 32/);
  child.kill('SIGINT');
  const result = await ended;
  assert.equal(result.signal, 'SIGINT');
  const answer = JSON.parse(result.stdout);
  assertValid('tune', answer);
  assert.equal(answer.interrupted, true);
  assert.ok(answer.races[0].arms[0].rounds.length >= 1, 'the finished round is kept');
  assert.deepEqual(running(marker), [], 'nothing is left running');
  assert.deepEqual(readdirSync(folder), [], 'no recording is left');
});
