/** `report --html` and the page that `record` writes: whole or not at all, and where it belongs. */
import assert from 'node:assert/strict';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { load } from './load.mjs';
import { nodes } from './nodes.mjs';
import { fixture, startRecording } from './recordings.mjs';
import { makeFolder, runBobtail } from './run-bobtail.mjs';
import { assertValid } from './schemas.mjs';
import { mountSmallDisk, noSmallDisk } from './small-disk.mjs';

const NODE = nodes.at(-1).path;
const SERVICE = [NODE, fixture('service.mjs'), 'http'];
const REQUESTS = 60;

let home;
let ended;
let folder;

before(async () => {
  home = mkdtempSync(join(tmpdir(), 'bobtail-html-'));
  const ends = [];
  const recording = await startRecording({ after: (end) => ends.push(end) }, SERVICE, {
    cwd: home,
  });
  await load(recording.port, { count: REQUESTS });
  ended = await recording.end('SIGINT');
  folder = recording.folder;
});

after(() => rmSync(home, { recursive: true, force: true }));

/** What a page carries. */
function dataOf(file) {
  const [, text] = /<script type="application\/json" id="data">(.*?)<\/script>/s.exec(
    readFileSync(file, 'utf8'),
  );
  return JSON.parse(text);
}

test('record writes the page into the recording and tells where, last', () => {
  assert.equal(ended.signal, 'SIGINT');
  assert.ok(ended.stderr.endsWith('  report recording.bobtail/report.html\n'), ended.stderr);
  assert.equal(dataOf(join(folder, 'report.html')).page.report.requests.count, REQUESTS);
});

test('the data follows its schema and holds the answer of report --json', async () => {
  const { meta, page } = dataOf(join(folder, 'report.html'));
  assertValid('html', page);
  const { stdout } = await runBobtail(['report', folder, '--json']);
  assert.deepEqual(page.report, JSON.parse(stdout));
  assert.deepEqual(meta.folders, ['recording.bobtail']);
});

for (const [name, flags, signal] of [
  ['--no-html', ['--no-html'], 'SIGINT'],
  ['SIGTERM, which wants an end soon,', [], 'SIGTERM'],
]) {
  test(`${name} writes no page`, async (t) => {
    const recording = await startRecording(t, SERVICE, { flags });
    await load(recording.port, { count: 5 });
    const { stderr } = await recording.end(signal);
    assert.match(stderr, /5 requests/);
    assert.equal(existsSync(join(recording.folder, 'report.html')), false);
    assert.doesNotMatch(stderr, /report\.html/);
  });
}

test('with --json the answer is JSON, and the page is written, too', async (t) => {
  const cwd = makeFolder(t);
  const args = ['report', folder, '--json', '--html', 'a.html'];
  const { code, stdout, stderr } = await runBobtail(args, { cwd });
  assert.equal(code, 0, stderr);
  assert.equal(JSON.parse(stdout).requests.count, REQUESTS);
  assert.equal(stderr, '  report a.html\n');
  assert.equal(dataOf(join(cwd, 'a.html')).page.report.requests.count, REQUESTS);
});

test('a page is replaced as a whole, behind a link, too', async (t) => {
  const cwd = makeFolder(t);
  writeFileSync(join(cwd, 'old.html'), 'old');
  symlinkSync('old.html', join(cwd, 'link.html'));
  const { code } = await runBobtail(['report', folder, '--html', 'link.html'], { cwd });
  assert.equal(code, 0);
  assert.ok(lstatSync(join(cwd, 'link.html')).isSymbolicLink());
  assert.equal(dataOf(join(cwd, 'old.html')).page.report.requests.count, REQUESTS);
  assert.deepEqual(readdirSync(cwd).sort(), ['link.html', 'old.html']);
});

const UNWRITABLE = [
  ['nowhere/a.html', 73, /^bobtail: cannot write: no such file or folder \(nowhere\/a\.html\)\n$/],
  ['there', 73, /^bobtail: cannot write: is a folder \(there\)\n$/],
  ['file/a.html', 73, /^bobtail: cannot write: not a folder \(file\/a\.html\)\n$/],
  ['/dev/full', 74, /^bobtail: disk full \(\/dev\/full\)\n$/],
];

for (const [out, code, line] of UNWRITABLE) {
  test(`--html ${out} is one line, and nothing is left`, async (t) => {
    const cwd = makeFolder(t);
    mkdirSync(join(cwd, 'there'));
    writeFileSync(join(cwd, 'file'), '');
    const result = await runBobtail(['report', folder, '--html', out], { cwd });
    assert.equal(result.code, code, result.stderr);
    assert.match(result.stderr, line);
    assert.equal(result.stdout, '');
    assert.deepEqual(readdirSync(cwd).sort(), ['file', 'there']);
    assert.deepEqual(readdirSync(join(cwd, 'there')), []);
    assert.equal(existsSync('/dev/full'), true);
  });
}

test('a full or read-only disk keeps the page that was there', { skip: noSmallDisk }, async (t) => {
  const full = mountSmallDisk(t, { megabytes: 1 });
  writeFileSync(join(full, 'a.html'), 'old');
  writeFileSync(join(full, 'filler'), Buffer.alloc(900_000));
  const result = await runBobtail(['report', folder, '--html', join(full, 'a.html')]);
  assert.equal(result.code, 74, result.stderr);
  assert.equal(result.stderr, `bobtail: disk full (${join(full, 'a.html')})\n`);
  assert.equal(readFileSync(join(full, 'a.html'), 'utf8'), 'old');
  assert.deepEqual(readdirSync(full).sort(), ['a.html', 'filler']);
  const fixed = mountSmallDisk(t, { readOnly: true });
  const refused = await runBobtail(['report', folder, '--html', join(fixed, 'a.html')]);
  assert.equal(refused.code, 73, refused.stderr);
  assert.match(refused.stderr, /^bobtail: cannot write: read-only file system \(/);
});

test('what is no good recording leaves the page that was there', async (t) => {
  const cwd = makeFolder(t);
  writeFileSync(join(cwd, 'a.html'), 'old');
  const bad = {
    empty: [68, {}],
    newer: [66, { '1-0.trace': newerTrace() }],
    damaged: [65, { 'run.json': '{"sch' }],
    nothing: [67, { 'run.json': readFileSync(join(folder, 'run.json')) }],
  };
  for (const [name, [code, files]] of Object.entries(bad)) {
    mkdirSync(join(cwd, name));
    for (const [file, content] of Object.entries(files)) {
      writeFileSync(join(cwd, name, file), content);
    }
    const result = await runBobtail(['report', name, '--html', 'a.html'], { cwd });
    assert.equal(result.code, code, result.stderr);
    assert.match(result.stderr, /^bobtail: [^\n]+\n$/);
    assert.equal(readFileSync(join(cwd, 'a.html'), 'utf8'), 'old');
    assert.equal(
      readdirSync(cwd).some((file) => file.endsWith('.partial')),
      false,
    );
  }
});

function newerTrace() {
  const page = Buffer.alloc(4096);
  page.write('BOBTAIL\n', 'latin1');
  page.writeUInt32LE(2, 8);
  page.writeUInt32LE(4096, 12);
  return page;
}

test('a recording still being written has a page of what there is', async (t) => {
  const recording = await startRecording(t, SERVICE);
  await load(recording.port, { count: 30 });
  const file = join(recording.cwd, 'now.html');
  const { code, stderr } = await runBobtail(['report', recording.folder, '--html', file]);
  assert.equal(code, 0, stderr);
  const { report } = dataOf(file).page;
  assert.ok(report.requests.count > 0);
  assert.equal(report.run.outcome, null);
  await recording.end();
});

test('gates are in the page as in the JSON, and a missed one leaves a page', async (t) => {
  const cwd = makeFolder(t);
  const args = ['report', folder, '--fail-on', 'p50<1ns', '--fail-on', 'p99.9<1s'];
  const { code, stdout } = await runBobtail([...args, '--json', '--html', 'a.html'], { cwd });
  assert.equal(code, 75);
  const { page } = dataOf(join(cwd, 'a.html'));
  assertValid('html', page);
  assert.deepEqual(page.report, JSON.parse(stdout));
  assert.deepEqual(
    page.report.gates.map(({ outcome }) => outcome),
    ['missed', 'undecided'],
  );
});

test('a service that nobody asked anything has no page, but one line and its code', async (t) => {
  const recording = await startRecording(t, SERVICE);
  const ended = await recording.end('SIGINT');
  assert.match(ended.stderr, /^bobtail: no request was recorded \(.*\)$/m);
  assert.equal(readdirSync(recording.folder).includes('report.html'), false);
  const { cwd } = recording;
  const before = readdirSync(cwd);
  const answers = [
    ['report', 'recording.bobtail', '--html', 'a.html', '--json'],
    ['report', 'recording.bobtail', '--html', 'a.html', '--fail-on', 'count>=1'],
    ['diff', 'recording.bobtail', folder, '--html', 'a.html'],
    ['diff', folder, 'recording.bobtail', '--html', 'a.html', '--json'],
  ].map((args) => runBobtail(args, { cwd }));
  for (const { code, stdout, stderr } of await Promise.all(answers)) {
    assert.equal(code, 67, stderr);
    assert.equal(stdout, '');
    assert.equal(stderr, 'bobtail: no finished request was recorded (recording.bobtail)\n');
  }
  assert.deepEqual(readdirSync(cwd), before);
});

test('diff writes its page, beside another answer or alone', async (t) => {
  const cwd = makeFolder(t);
  const alone = await runBobtail(['diff', folder, folder, '--html', 'a.html'], { cwd });
  assert.deepEqual(alone, { ...alone, code: 0, stdout: 'a.html\n', stderr: '' });
  const gate = ['--fail-on', 'p50<+1%'];
  const both = await runBobtail(['diff', folder, folder, '--json', '--html', 'b.html', ...gate], {
    cwd,
  });
  assert.match(both.stderr, /^ {2}diff b\.html\n/);
  const { meta, page } = dataOf(join(cwd, 'b.html'));
  assertValid('diff-html', page);
  assert.deepEqual(page.diff, JSON.parse(both.stdout));
  assert.equal(page.diff.gates.length, 1);
  assert.equal(meta.folders.length, 2);
  const { gates: _, ...bare } = page.diff;
  assert.deepEqual(dataOf(join(cwd, 'a.html')).page.diff, bare);
  for (const [out, code] of [
    ['nowhere/a.html', 73],
    ['/dev/full', 74],
  ]) {
    const result = await runBobtail(['diff', folder, folder, '--html', out], { cwd });
    assert.equal(result.code, code, result.stderr);
    assert.match(result.stderr, /^bobtail: [^\n]+\n$/);
    assert.equal(result.stdout, '');
  }
  assert.deepEqual(readdirSync(cwd).sort(), ['a.html', 'b.html']);
});
