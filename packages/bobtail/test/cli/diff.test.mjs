/** Two recordings compared: of one service, of a slower one, of what is no recording. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { assertBeyondAddsUp, forcedMoves } from './beyond-sums.mjs';
import { elementsOf } from './junit-xml.mjs';
import { makeFolder, PACKAGE, runBobtail } from './run-bobtail.mjs';
import { assertValid } from './schemas.mjs';
import { assertSnapshot } from './snapshots.mjs';

const load = createRequire(import.meta.url);
const dist = (path) => load(join(PACKAGE, 'dist', path));
const { renderDiff, renderDiffMarkdown } = dist('cli/diff/render-diff.js');
const { parseDiffGate, judgeDiffGates } = dist('gates/diff-gate.js');
const { createColors } = load('picocolors');
const look = { colors: createColors(false), width: 120 };
const fixture = JSON.parse(readFileSync(join(PACKAGE, 'test/cli/fixtures/diff.json'), 'utf8'));
const names = ['before.bobtail', 'after.bobtail'];

/** Works for some milliseconds on every second request. */
const SERVICE = `
  const { createServer } = require('node:http');
  const busyMs = Number(process.argv[2]);
  function work() {
    const end = performance.now() + busyMs;
    while (performance.now() < end);
  }
  const server = createServer((request, response) => {
    if (request.url === '/slow') work();
    response.end('done');
  });
  server.listen(0, '127.0.0.1');
`;
const REQUESTS = 300;
const LOAD = `${process.execPath} -e "
  (async () => {
    for (let i = 0; i < ${REQUESTS}; i++) {
      const path = i % 2 === 0 ? '/slow' : '/fast';
      await (await fetch('http://127.0.0.1:' + process.env.PORT + path)).text();
    }
  })()"`;
const PLANTED_MS = 20;

let home;
let quick;
let slow;

before(async () => {
  home = mkdtempSync(join(tmpdir(), 'bobtail-diff-'));
  writeFileSync(join(home, 'service.cjs'), SERVICE);
  const recordings = [];
  for (const busyMs of [0, PLANTED_MS]) {
    const out = join(home, `${busyMs}.bobtail`);
    const command = [process.execPath, 'service.cjs', String(busyMs)];
    const args = ['record', '--no-report', '--out', out, '--on-port', LOAD, '--', ...command];
    const { code, stderr } = await runBobtail(args, { cwd: home });
    assert.equal(code, 0, stderr);
    recordings.push(out);
  }
  [quick, slow] = recordings;
});

after(() => rmSync(home, { recursive: true, force: true }));

/** All changes in an answer, wherever they are. */
function changesOf(value) {
  if (value === null || typeof value !== 'object') {
    return [];
  }
  const inside = Object.values(value).flatMap(changesOf);
  return 'verdict' in value ? [value, ...inside] : inside;
}

async function diffOf(...args) {
  const { code, stdout, stderr } = await runBobtail(['diff', ...args, '--json']);
  assert.equal(code, 0, stderr);
  assert.equal(stderr, '');
  const diff = JSON.parse(stdout);
  assertValid('diff', diff);
  return diff;
}

test('a difference for the terminal and for a pull request', () => {
  assertValid('diff', fixture);
  const text = renderDiff(fixture, names, look);
  assertSnapshot('diff.txt', text);
  assertSnapshot('diff-markdown.txt', renderDiffMarkdown(fixture, names));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a route of the fixture has one
  assert.doesNotMatch(text, /\x1b/);
});

test('a recording does not differ from itself', async () => {
  const diff = await diffOf(slow, slow, '--tail', '50');
  const changes = changesOf(diff);
  assert.ok(changes.length > 30, String(changes.length));
  for (const change of changes) {
    assert.ok(change.deltaNs === 0 || change.deltaNs === null, JSON.stringify(change));
    assert.ok(['within-noise', 'too-few'].includes(change.verdict), JSON.stringify(change));
  }
  const { stdout } = await runBobtail(['diff', slow, slow]);
  assert.match(stdout, /^(No change beyond the noise at p50|Not enough samples)/);
});

test('what was planted is found, with its cause, and told by gates', async () => {
  const diff = await diffOf(quick, slow, '--tail', '50');
  const route = diff.routes.find((one) => one.route === 'GET /slow');
  const p50 = route.percentiles.find((one) => one.percentile === 50);
  assert.equal(p50.latency.verdict, 'more', JSON.stringify(p50.latency));
  assert.ok(p50.latency.bNs >= PLANTED_MS * 1e6);
  assert.ok(p50.latency.lowNs > 0 && p50.latency.lowNs <= p50.latency.deltaNs);
  const exec = p50.causes.find((one) => one.cause === 'exec');
  assert.equal(exec.verdict, 'more', JSON.stringify(exec));
  const p999 = route.percentiles.find((one) => one.percentile === 99.9);
  assert.equal(p999.latency.verdict, 'too-few');
  assert.equal(p999.note, 'p99.9 needs 10,000 requests in each, there are 150 and 150');
  const gates = ['route("GET /slow").p50<+5ms', 'p99.9<+10%', 'route("GET /slow").p50.exec>+1us'];
  const args = ['diff', quick, slow, '--tail', '50', ...gates.flatMap((it) => ['--fail-on', it])];
  const { code, stderr, stdout } = await runBobtail(args);
  assert.equal(code, 75, stderr);
  const [missed, undecided, nothing] = stderr.trimEnd().split('\n');
  const value = 'is \\+\\S+ ms \\[\\+\\S+ ms – \\+\\S+ ms, 95 %\\]';
  assert.match(missed, new RegExp(`gate missed: route.* ${value}, wanted <\\+5\\.00 ms$`));
  assert.match(undecided, /gate undecided: p99\.9 cannot be told, wanted <\+10\.0 %: p99\.9 needs/);
  assert.equal(nothing, undefined);
  assert.match(stdout, /^ {2}passed .*p50\.exec/m);
});

test('what is told beyond the percentile of the headline adds up', async () => {
  const recorded = await diffOf(quick, slow, '--tail', '50');
  const lines = forcedMoves(recorded).flatMap((diff) => {
    const text = renderDiff(diff, names, look);
    const markdown = renderDiffMarkdown(diff, names);
    assert.deepEqual(assertBeyondAddsUp(diff, markdown), assertBeyondAddsUp(diff, text));
    return assertBeyondAddsUp(diff, text);
  });
  // The slow route is slower by exec, which native is the most of.
  assert.ok(lines.some((line) => /^The mean beyond p50 changed by .* exec \+/.test(line)));
  assert.ok(
    lines.some((line) => /by class of work: native \+/.test(line)),
    lines.join('\n'),
  );
  assert.ok(
    forcedMoves(fixture).some(
      (diff) => assertBeyondAddsUp(diff, renderDiff(diff, names, look)).length === 2,
    ),
  );
});

test('gates of a difference are JUnit tests, beside any answer', async (t) => {
  const cwd = makeFolder(t);
  const texts = ['route("GET /slow").p50<+5ms', 'p99.9<+10%', 'route("GET /slow").p50>+1us'];
  const gates = texts.flatMap((text) => ['--fail-on', text]);
  const files = ['--junit', 'gates.xml', '--html', 'diff.html'];
  const args = ['diff', quick, slow, '--tail', '50', ...gates, ...files, '--json'];
  const { code, stdout } = await runBobtail(args, { cwd });
  assert.equal(code, 75);
  assert.deepEqual(readdirSync(cwd).sort(), ['diff.html', 'gates.xml']);
  const elements = elementsOf(readFileSync(join(cwd, 'gates.xml'), 'utf8'));
  const [suites, suite, ...cases] = elements;
  for (const { tests, failures, errors } of [suites, suite]) {
    assert.deepEqual([tests, failures, errors], ['3', '1', '1']);
  }
  assert.deepEqual([suites.name, suite.name], ['bobtail', 'bobtail diff']);
  const outcomes = JSON.parse(stdout).gates;
  assert.deepEqual(
    cases.filter(({ classname }) => classname === 'bobtail diff').map(({ name }) => name),
    outcomes.map(({ gate }) => gate),
  );
  const [missed] = cases.filter(({ type }) => type === 'missed');
  assert.match(missed.message, /p50 is \+\S+ ms \[.*\], wanted <\+5\.00 ms$/);
  const [undecided] = cases.filter(({ type }) => type === 'undecided');
  assert.match(undecided.message, /^p99\.9 cannot be told, wanted <\+10\.0 %: p99\.9 needs 10,000/);
  const told = await runBobtail(['diff', quick, slow, '--junit', 'x.xml'], { cwd });
  assert.deepEqual([told.code, told.stdout], [64, '']);
  assert.equal(told.stderr, 'bobtail: --junit needs a gate: --fail-on (x.xml)\n');
});

test('a change within the noise misses no gate', () => {
  const verdicts = (verdict) => {
    const diff = structuredClone(fixture);
    const p50 = diff.routes[0].percentiles.find((one) => one.percentile === 50);
    p50.latency = { aNs: 100, bNs: 130, deltaNs: 30, lowNs: -5, highNs: 60, noiseNs: 9, verdict };
    const gates = ['p50<+40%', 'p50<+10%', 'p50<+10ns', 'p50<-1ns', 'p50>=+30%'].map(parseDiffGate);
    return judgeDiffGates(diff, gates).map(({ outcome, value }) => [outcome, value]);
  };
  const told = [0.3, 0.3, 30, 30, 0.3];
  const outcomes = (first) => ['passed', first, first, first, 'passed'];
  assert.deepEqual(
    verdicts('more'),
    outcomes('missed').map((one, i) => [one, told[i]]),
  );
  assert.deepEqual(
    verdicts('within-noise'),
    outcomes('undecided').map((one, i) => [one, told[i]]),
  );
});

for (const [text, message] of [
  ['p98<+5%', /unknown metric "p98", there are mean, p50, p99, p99\.9/],
  ['losses<+5', /unknown metric "losses"/],
  ['p99.foo<+5%', /unknown cause "foo"/],
  ['p99<5%', /p99 takes a change with its sign, such as \+10% or \+5ms \(p99<5%\)/],
  ['p99<+5', /p99 takes %, ns, us, ms or s/],
  ['p99=+5%', /a change is bounded by/],
]) {
  test(`${text} is refused before a recording is read`, async () => {
    const { code, stdout, stderr } = await runBobtail(['diff', 'a', 'b', '--fail-on', text]);
    assert.equal(code, 64);
    assert.equal(stdout, '');
    assert.match(stderr, message);
    assert.equal(stderr.trimEnd().split('\n').length, 1);
  });
}

test('either may be no recording, with the line and the code of a report', async (t) => {
  const cwd = makeFolder(t);
  const newer = Buffer.alloc(4096);
  newer.write('BOBTAIL\n', 'latin1');
  newer.writeUInt32LE(2, 8);
  newer.writeUInt32LE(4096, 12);
  for (const [name, file, content, code] of [
    ['none', undefined, undefined, 68],
    ['foreign', '1-0.trace', 'GIF89a..', 68],
    ['newer', '1-0.trace', newer, 66],
    ['half', 'run.json', '{"sch', 65],
  ]) {
    if (file !== undefined) {
      mkdirSync(join(cwd, name));
      writeFileSync(join(cwd, name, file), content);
    }
    const alone = await runBobtail(['report', name], { cwd });
    for (const pair of [
      [name, quick],
      [quick, name],
    ]) {
      const result = await runBobtail(['diff', ...pair], { cwd });
      assert.deepEqual([result.code, result.stdout], [code, '']);
      assert.equal(result.stderr, alone.stderr);
    }
  }
});
