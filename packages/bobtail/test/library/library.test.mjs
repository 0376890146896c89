/** The library as programs use it: both module systems, silent, with errors by code. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import * as bobtail from 'bobtail';
import { makeFolder, PACKAGE, runBobtail, SERVER } from '../cli/run-bobtail.mjs';

const { check, checkDiff, diff, explain, explainMany, Failure, read, record, report } = bobtail;
const { whatIf, writeDiffPage, writePage, writeWhatIfPage } = bobtail;
const required = createRequire(import.meta.url)('bobtail');
/** Sent by the load at least; how many it sent is what the recording says. */
const REQUESTS_MIN = 40;
/**
 * A difference is told only where each recording has eight blocks of time, each four times as long
 * as its slowest request: the load goes on until it has lasted that long and a quarter more. It
 * pauses for as long as that request, too, so that no stall makes so many of them that a p99.9 can
 * be told.
 */
const SLOWEST_TIMES = 40;
const LOAD = `"${process.execPath}" -e "
  const { get } = require('node:http');
  const url = 'http://127.0.0.1:' + process.env.PORT + '/same';
  const ask = () => new Promise((resolve, reject) =>
    get(url, (response) => response.resume().on('end', resolve)).on('error', reject));
  (async () => {
    const begin = performance.now();
    let slowest = 0;
    for (let i = 0; ; i++) {
      const asked = performance.now();
      if (i >= ${REQUESTS_MIN} && asked - begin > ${SLOWEST_TIMES} * slowest) break;
      await ask();
      slowest = Math.max(slowest, performance.now() - asked);
      await new Promise((resolve) => setTimeout(resolve, Math.max(75, slowest)));
    }
  })()"`;
const COMMAND = [process.execPath, SERVER];

let home;
let recording;
let requests;

before(async () => {
  home = mkdtempSync(join(tmpdir(), 'bobtail-library-'));
  recording = await record({ command: COMMAND, onPort: LOAD, out: join(home, 'a.bobtail') });
  requests = (await recording.report()).requests.count;
  assert.ok(requests >= REQUESTS_MIN, String(requests));
});

after(() => rmSync(home, { recursive: true, force: true }));

test('import and require are one library', () => {
  assert.equal(required.Failure, Failure);
  assert.deepEqual(
    Object.keys(bobtail).sort(),
    Object.keys(required)
      .filter((name) => name !== 'default')
      .sort(),
  );
});

test('the package holds what its exports name', () => {
  const { exports, files } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'));
  const paths = (value) =>
    typeof value === 'string' ? [value] : Object.values(value).flatMap(paths);
  for (const path of paths(exports)) {
    assert.ok(existsSync(join(PACKAGE, path)), path);
    const first = path.split('/')[1];
    assert.ok(files.includes(first) || first === 'package.json', path);
  }
});

test('a recording answers what the command line answers', async () => {
  assert.equal(recording.folder, join(home, 'a.bobtail'));
  assert.equal(recording.run.outcome.signal, 'SIGTERM');
  const json = async (...args) => {
    const { code, stdout, stderr } = await runBobtail([...args, '--json']);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  const { folder } = recording;
  const told = await json('report', folder, '--tail', '50');
  assert.deepEqual(await recording.report({ percentile: 50 }), told);
  assert.deepEqual(await report(folder, { percentile: 50 }), told);
  const slowest = await json('explain', folder);
  assert.deepEqual(await recording.explain(), slowest);
  assert.deepEqual(await explain(recording, { request: slowest.id }), slowest);
  assert.deepEqual((await explainMany(folder, { all: true }))[0], slowest);
  assert.equal((await recording.explainMany({ all: true })).length, requests);
  const same = await json('diff', folder, folder);
  assert.deepEqual(await diff(folder, recording), same);
  assert.deepEqual(await recording.diff(folder), same);
  const [missed, undecided] = await check(recording, ['p50<1ns', 'p99.9<1s']);
  assert.deepEqual([missed.outcome, undecided.outcome], ['missed', 'undecided']);
  assert.deepEqual(await recording.check(['p50<1ns', 'p99.9<1s']), [missed, undecided]);
  assert.deepEqual(await (await read(folder)).report({ percentile: 50 }), told);
});

/** What a page was given. */
function dataOf(file) {
  const [, json] = /<script type="application\/json"[^>]*>(.*?)<\/script>/s.exec(
    readFileSync(file, 'utf8'),
  );
  return JSON.parse(json).page;
}

for (const [kind, library] of [
  ['import', bobtail],
  ['require', required],
]) {
  test(`pages are what the command line writes: ${kind}`, async (t) => {
    const cwd = makeFolder(t);
    const { folder } = recording;
    const [page, moved] = ['page.html', 'diff.html'].map((name) => join(cwd, name));
    const gates = ['p50<1ns', 'p99.9<1s'];
    const changes = ['p50<+10s', 'p99.9<+10%'];
    const told = await library.writePage(folder, page, { percentile: 50, gates });
    assert.deepEqual(
      told.gates.map(({ outcome }) => outcome),
      ['missed', 'undecided'],
    );
    assert.deepEqual(dataOf(page).report, JSON.parse(JSON.stringify(told)));
    const { gates: _, ...report } = told;
    assert.deepEqual(report, await library.report(folder, { percentile: 50 }));
    const diff = await library.writeDiffPage(folder, recording, moved, { gates: changes });
    assert.deepEqual(
      diff.gates.map(({ outcome }) => outcome),
      ['passed', 'undecided'],
    );
    assert.deepEqual(dataOf(moved).diff, JSON.parse(JSON.stringify(diff)));
    assert.deepEqual(await library.checkDiff(folder, recording, changes), diff.gates);
    const flags = (texts) => texts.flatMap((text) => ['--fail-on', text]);
    const from = async (file, ...args) => {
      await runBobtail([...args, '--html', join(cwd, 'cli.html')], { cwd });
      assert.deepEqual(dataOf(file), dataOf(join(cwd, 'cli.html')));
    };
    await from(page, 'report', folder, '--tail', '50', ...flags(gates));
    await from(moved, 'diff', folder, folder, ...flags(changes));
  });
}

test('a recording writes its own pages', async (t) => {
  const cwd = makeFolder(t);
  const file = join(cwd, 'a.html');
  assert.deepEqual(await recording.writePage(file), await recording.report());
  assert.deepEqual(dataOf(file).report, JSON.parse(JSON.stringify(await recording.report())));
  const diff = await recording.diff(recording);
  assert.deepEqual(await recording.writeDiffPage(recording, file), diff);
  assert.deepEqual(dataOf(file).diff, JSON.parse(JSON.stringify(diff)));
  const [outcome] = await recording.checkDiff(recording.folder, ['p50<+10s']);
  assert.equal(outcome.outcome, 'passed');
});

test('what it would bring is what the command line says, on the page, too', async (t) => {
  const page = join(makeFolder(t), 'whatif.html');
  const scenarios = ['gc=0.7,native=0.9', 'policy=combined'];
  const options = { percentile: 50 };
  const sets = scenarios.flatMap((scenario) => ['--set', scenario]);
  const args = ['whatif', recording.folder, ...sets, '--tail', '50', '--json'];
  const { code, stdout, stderr } = await runBobtail(args);
  // A busy machine may spoil a recording for replays: then each way of asking is refused.
  if (code === 81) {
    const refused = { code: 'BOBTAIL_NOT_REPLAYABLE' };
    await assert.rejects(recording.whatIf(scenarios, options), refused);
    await assert.rejects(writeWhatIfPage(recording, scenarios, page, options), refused);
    assert.ok(!existsSync(page));
    return;
  }
  assert.equal(code, 0, stderr);
  const told = JSON.parse(stdout);
  assert.deepEqual(await whatIf(recording.folder, scenarios, options), told);
  assert.deepEqual(await recording.whatIf(scenarios, options), told);
  assert.deepEqual(await recording.writeWhatIfPage(scenarios, page, options), told);
  assert.deepEqual(dataOf(page), told);
});

test('an aborted recording is kept', async () => {
  const stop = new AbortController();
  const out = join(home, 'aborted.bobtail');
  const under = record({ command: [...COMMAND, 'asked'], out, signal: stop.signal });
  // It asks itself once; its listening file tells that it does.
  for (let asked = false; !asked; ) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    asked = await report(out).then(
      ({ requests }) => requests.count > 0,
      () => false,
    );
  }
  stop.abort();
  assert.equal((await (await under).report()).requests.count, 1);
  const again = record({ command: COMMAND, out, signal: stop.signal });
  await assert.rejects(again, { code: 'BOBTAIL_UNSUPPORTED' });
});

test('troubles have codes that stay', async (t) => {
  const folder = makeFolder(t);
  const broken = join(folder, 'broken');
  mkdirSync(broken);
  writeFileSync(join(broken, '1-0.trace'), 'GIF89a..');
  const nowhere = join(folder, 'nowhere');
  const out = join(folder, 'out');
  const page = join(folder, 'page.html');
  const cases = [
    [() => read(nowhere), 'BOBTAIL_NOT_RECORDING'],
    [() => report(nowhere), 'BOBTAIL_NOT_RECORDING'],
    [() => report(broken), 'BOBTAIL_NOT_RECORDING'],
    [() => diff(recording, nowhere), 'BOBTAIL_NOT_RECORDING'],
    [() => explain(recording, { slowest: requests + 1 }), 'BOBTAIL_USAGE'],
    [() => explain(recording, { request: '1-0:1' }), 'BOBTAIL_USAGE'],
    [() => report(recording, { percentile: 100 }), 'BOBTAIL_USAGE'],
    [() => report(recording, { percentil: 50 }), 'BOBTAIL_USAGE'],
    [() => check(recording, ['p99x<1ms']), 'BOBTAIL_USAGE'],
    [() => checkDiff(recording, recording, ['p99<5ms']), 'BOBTAIL_USAGE'],
    [() => checkDiff(recording, nowhere, ['p99<+5ms']), 'BOBTAIL_NOT_RECORDING'],
    [() => writePage(recording, page, { gates: ['p99x<1ms'] }), 'BOBTAIL_USAGE'],
    [() => writePage(recording, page, { percentil: 50 }), 'BOBTAIL_USAGE'],
    [() => whatIf(recording, ['ggc=0.7']), 'BOBTAIL_USAGE'],
    [() => whatIf(nowhere, ['gc=0.7']), 'BOBTAIL_NOT_RECORDING'],
    [() => writeWhatIfPage(recording, ['gc=0.7,'], page), 'BOBTAIL_USAGE'],
    [() => writePage(nowhere, page), 'BOBTAIL_NOT_RECORDING'],
    [() => writePage(recording, folder), 'BOBTAIL_CANNOT_WRITE'],
    [() => writeDiffPage(recording, recording, join(page, 'x')), 'BOBTAIL_CANNOT_WRITE'],
    [() => writeDiffPage(recording, broken, page), 'BOBTAIL_NOT_RECORDING'],
    [() => record({ command: [] }), 'BOBTAIL_USAGE'],
    [() => record({ command: COMMAND, out, durationMs: 0 }), 'BOBTAIL_USAGE'],
    [() => record({ command: COMMAND, out, warmupMs: Number.NaN }), 'BOBTAIL_USAGE'],
    [() => record({ command: COMMAND, out, maxBytes: 1 }), 'BOBTAIL_USAGE'],
    [() => record({ command: ['no-such-command'], out }), 'BOBTAIL_NOT_FOUND'],
    [() => record({ command: ['true'], out }), 'BOBTAIL_UNSUPPORTED'],
    [() => record({ command: COMMAND, out: '/dev/null/x' }), 'BOBTAIL_CANNOT_WRITE'],
    [() => record({ command: COMMAND, out, onPort: 'exit 3' }), 'BOBTAIL_LOAD_FAILED'],
  ];
  for (const [call, code] of cases) {
    const error = await call().then(
      () => assert.fail(`${call} succeeded`),
      (reason) => reason,
    );
    assert.ok(error instanceof Failure, `${call}: ${error.stack}`);
    assert.equal(error.code, code, `${call}: ${error.message}`);
    assert.doesNotMatch(error.message, /\n/);
  }
  assert.equal(existsSync(page), false);
});

test('nothing is printed, and the process stays as it was', async (t) => {
  const folder = makeFolder(t);
  const program = `
    const { record } = require('bobtail');
    const noisy = "console.log('out'); console.error('err'); require('node:http')" +
      ".createServer((q, s) => s.end()).listen(0, '127.0.0.1')";
    const command = [process.execPath, '-e', noisy];
    const onPort = ${JSON.stringify(LOAD)} + '; echo out; echo err >&2';
    (async () => {
      const recording = await record({ command, onPort, out: process.argv[1] });
      await recording.report();
      await record({ command: ['no-such-command'], out: process.argv[1] }).catch(() => undefined);
      const left = ['SIGTERM', 'SIGINT', 'exit'].map((name) => process.listenerCount(name));
      const facts = JSON.stringify([process.exitCode ?? 0, left]);
      require('node:fs').writeFileSync(process.argv[2], facts);
    })();
  `;
  const facts = join(folder, 'facts.json');
  const args = ['-e', program, join(folder, 'r.bobtail'), facts];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: PACKAGE });
  assert.deepEqual([stdout, stderr], ['', '']);
  assert.deepEqual(JSON.parse(readFileSync(facts, 'utf8')), [0, [0, 0, 0]]);
});
