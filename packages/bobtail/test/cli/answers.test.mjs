/** Recorded for real, once; then every way of asking about it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { MAIN, makeFolder, PACKAGE, runBobtail, SERVER } from './run-bobtail.mjs';
import { assertValid } from './schemas.mjs';

const REQUESTS = 50;
const LOAD = `${process.execPath} -e "
  (async () => {
    for (let i = 0; i < ${REQUESTS}; i++) {
      await (await fetch('http://127.0.0.1:' + process.env.PORT + '/' + i)).text();
    }
  })()"`;

let home;
let recording;
let recorded;

before(async () => {
  home = mkdtempSync(join(tmpdir(), 'bobtail-answers-'));
  const args = ['record', '--on-port', LOAD, '--', process.execPath, SERVER];
  recorded = await runBobtail(args, { cwd: home });
  recording = join(home, 'recording.bobtail');
});

after(() => rmSync(home, { recursive: true, force: true }));

test('record --on-port ends with the report', () => {
  assert.equal(recorded.code, 0, recorded.stderr);
  assert.match(recorded.stderr, new RegExp(` ${REQUESTS} requests · 0 lost`));
  assert.match(recorded.stdout, /^tail \(\d+ requests? ≥ /m);
  assert.match(recorded.stdout, /accounted for \d+\.\d % of the tail's time/);
});

test('report --json is one valid document, the same every time', async () => {
  const first = await runBobtail(['report', recording, '--json']);
  assert.equal(first.code, 0, first.stderr);
  assert.equal(first.stderr, '');
  const report = JSON.parse(first.stdout);
  assertValid('report', report);
  assert.equal(report.requests.count, REQUESTS);
  assert.equal((await runBobtail(['report', recording, '--json'])).stdout, first.stdout);
});

test('explain --json is one valid document and tiles the latency', async () => {
  const { stdout, code, stderr } = await runBobtail(['explain', recording, '--json']);
  assert.equal(code, 0, stderr);
  const explanation = JSON.parse(stdout);
  assertValid('explain', explanation);
  const sumNs = explanation.segments.reduce((sum, one) => sum + one.durationNs, 0);
  assert.equal(sumNs, explanation.latencyNs);
  const again = await runBobtail(['explain', recording, '--json', '--request', explanation.id]);
  assert.equal(again.stdout, stdout);
});

test('what one of two processes did not measure is unknown for both together', async () => {
  const copy = join(home, 'two-processes.bobtail');
  cpSync(recording, copy, { recursive: true });
  const trace = readdirSync(copy).find((name) => name.endsWith('.trace'));
  const [pid] = trace.split('-').map(Number);
  const other = pid + 1;
  cpSync(join(copy, trace), join(copy, `${other}-0.trace`));
  const describe = (pid, jit) => {
    const names = ['gc', 'v8.ic', 'time not running'];
    const mechanisms = [...names.map((name) => ({ name, ok: true })), { name: 'v8.jit', ...jit }];
    const path = join(copy, `process-${pid}-0.json`);
    writeFileSync(path, JSON.stringify({ pid, thread: 0, mechanisms }));
  };
  describe(pid, { ok: true });
  describe(other, { ok: false, reason: 'no symbols' });
  const report = JSON.parse((await runBobtail(['report', copy, '--json'])).stdout);
  assertValid('report', report);
  const { gcNs, jitNs, icNs, notRunningNs } = report.breakdown[0].work;
  assert.equal(jitNs, null);
  assert.ok([gcNs, icNs, notRunningNs].every(Number.isInteger), 'the others are known');
  for (const row of report.processes) {
    assert.equal(row.work.jitNs === null, row.pid === other);
    const sumNs = Object.values(row.work).reduce((sum, partNs) => sum + partNs, 0);
    assert.equal(sumNs, row.queueNs + row.execNs);
  }
  assert.deepEqual(report.unavailable, [
    { mechanism: 'compilation', reason: 'in 1 of 2 processes: no symbols' },
  ]);
  const { stdout } = await runBobtail(['report', copy]);
  assert.match(stdout, new RegExp(`^ {2}${other}-0 `, 'm'));
});

test('explain ranks by latency', async () => {
  const { explain: analyzeRequest } = createRequire(import.meta.url)(
    join(PACKAGE, 'dist/index.js'),
  );
  let previousNs = Number.POSITIVE_INFINITY;
  for (const slowest of [1, 2, REQUESTS]) {
    const { latencyNs } = await analyzeRequest(recording, { slowest });
    assert.ok(latencyNs <= previousNs);
    previousNs = latencyNs;
  }
});

test('several requests in one pass are what one by one gives', async () => {
  const library = createRequire(import.meta.url)(join(PACKAGE, 'dist/index.js'));
  const { explain: analyzeRequest, explainMany: analyzeRequests, Failure } = library;
  const all = await analyzeRequests(recording, { all: true });
  assert.equal(all.length, REQUESTS);
  for (const slowest of [1, 7, REQUESTS]) {
    assert.deepEqual(await analyzeRequest(recording, { slowest }), all[slowest - 1]);
  }
  const ids = [all[9].id, all[3].id];
  assert.deepEqual(await analyzeRequests(recording, { ids }), [all[3], all[9]]);
  assert.deepEqual(await analyzeRequests(recording, { ids: [] }), []);
  const unknown = analyzeRequests(recording, { ids: [all[0].id, '1-0:1'] });
  await assert.rejects(unknown, (error) => error instanceof Failure && error.exitCode === 64);
});

const WRONG = [
  [['report', '--tail', '100'], 'bobtail: --tail takes a percentile between 0 and 100 (100)'],
  [['report', '--json', '--md'], /^bobtail: option '--json' cannot be used with option '--md'/],
  [['explain', '--slowest', '0'], 'bobtail: --slowest takes a whole number from 1 (0)'],
  [['explain', '--slowest', '9999'], `bobtail: no such request (slowest 9999 of ${REQUESTS})`],
  [
    ['explain', '--slowest', '99999999999'],
    `bobtail: no such request (slowest 99999999999 of ${REQUESTS})`,
  ],
  [['explain', '--request', '7'], 'bobtail: --request takes an id, such as 4121-0:17 (7)'],
  [['explain', '--request', '1-0:1'], 'bobtail: no such request (1-0:1)'],
];

for (const [args, line] of WRONG) {
  test(`bobtail ${args.join(' ')}`, async () => {
    const [verb, ...options] = args;
    const result = await runBobtail([verb, recording, ...options]);
    assert.equal(result.code, 64);
    assert.equal(result.stdout, '');
    const [said] = result.stderr.split('\n');
    typeof line === 'string' ? assert.equal(said, line) : assert.match(said, line);
  });
}

test('a closed pipe is silent', () => {
  const command = `"$0" "$1" report "$2" --json | true; echo "\${PIPESTATUS[0]}"`;
  const args = ['-c', command, process.execPath, MAIN, recording];
  const { stdout, stderr } = spawnSync('bash', args, { encoding: 'utf8' });
  assert.deepEqual({ stdout, stderr }, { stdout: '0\n', stderr: '' });
});

test('a full standard output is told', { skip: process.platform !== 'linux' }, () => {
  const command = '"$0" "$1" report "$2" > /dev/full';
  const args = ['-c', command, process.execPath, MAIN, recording];
  const { status, stderr } = spawnSync('bash', args, { encoding: 'utf8' });
  assert.equal(status, 74);
  assert.equal(stderr, 'bobtail: disk full (standard output)\n');
});

/** Park and Miller's generator: a failure is repeated by its seed. */
function random(seed) {
  let state = seed;
  return (below) => {
    state = (state * 48271) % 2147483647;
    return state % below;
  };
}

/** The exit codes for a damaged trace that no answer can be had from. */
function codesFor(bytes) {
  const magic = bytes.subarray(0, 8);
  if (magic.every((byte) => byte === 0)) return [67];
  if (!magic.equals(Buffer.from('BOBTAIL\n'))) return [68];
  if (bytes.length >= 12 && bytes.readUInt32LE(8) > 1) return [66];
  // Without its damaged chunks a trace may be whole, and have no request that ends.
  return [65, 67];
}

test('damaged traces end in an answer or in one line, never in a crash', async (t) => {
  const library = createRequire(import.meta.url)(join(PACKAGE, 'dist/index.js'));
  const { report: analyzeReport, explain: analyzeRequest, Failure } = library;
  const folder = join(makeFolder(t), 'damaged');
  cpSync(recording, folder, { recursive: true });
  const name = readdirSync(folder).find((one) => one.endsWith('.trace'));
  const whole = readFileSync(join(folder, name));
  const used = whole.findLastIndex((byte) => byte !== 0) + 1;
  for (let seed = 1; seed <= 60; seed++) {
    const pick = random(seed * 7919);
    const bytes = Buffer.from(whole.subarray(0, seed % 4 === 0 ? pick(used) : whole.length));
    for (let count = pick(20); count >= 0 && bytes.length > 0; count--) {
      bytes[pick(Math.min(used, bytes.length))] = pick(256);
    }
    writeFileSync(join(folder, name), bytes);
    for (const ask of [analyzeReport, (dir) => analyzeRequest(dir, { slowest: 1 })]) {
      try {
        const answer = await ask(folder);
        assertValid(answer.schema.startsWith('bobtail-report') ? 'report' : 'explain', answer);
      } catch (error) {
        assert.ok(error instanceof Failure, `seed ${seed}: ${error}`);
        const said = `seed ${seed}: ${error.exitCode}, ${error.message}`;
        assert.ok(codesFor(bytes).includes(error.exitCode), said);
      }
    }
  }
});
