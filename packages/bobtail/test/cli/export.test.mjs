/** What every format has in common: the choice of requests, bad input, an output that is whole. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { analyzeReport, analyzeRequests, exportRecording, recordMixed } from './exports.mjs';
import { MAIN, makeFolder, PACKAGE, runBobtail } from './run-bobtail.mjs';

const REQUESTS = 200;
const FORMATS = ['perfetto', 'otlp', 'pprof', 'hdr', 'parquet'];

let recording;

before(async () => {
  recording = await recordMixed(REQUESTS);
});

after(() => recording?.end());

/** Runs an export that must fail, and holds that it left nothing in its folder. */
async function refused(t, folder, code, line, ...options) {
  const cwd = makeFolder(t);
  const out = join(cwd, 'out');
  for (const format of FORMATS) {
    const args = ['export', folder, '--format', format, '--out', out, ...options];
    const result = await runBobtail(args, { cwd });
    assert.equal(result.code, code, result.stderr);
    assert.match(result.stderr, line);
    assert.equal(result.stderr.trimEnd().split('\n').length, 1);
    assert.equal(result.stdout, '');
    assert.deepEqual(readdirSync(cwd), []);
  }
}

const WRONG = [
  [
    'an unknown route',
    /^bobtail: no such request \(route GET \/nowhere\)/,
    '--route',
    'GET /nowhere',
  ],
  ['an unknown request', /^bobtail: no such request \(1-0:1\)/, '--request', '1-0:1'],
  ['no request id', /^bobtail: --request takes an id.*\(x\)/, '--request', 'x'],
  ['a time without requests', /^bobtail: no such request \(in this time\)/, '--from', '9h'],
  ['a time that ends before it begins', /^bobtail: --to must be after/, '--from', '2', '--to', '1'],
  ['none of the slowest', /^bobtail: --slowest takes a whole number/, '--slowest', '0'],
  ['contradictions', /^bobtail: option '--slowest.*cannot be used/, '--all', '--slowest', '3'],
];

for (const [name, line, ...options] of WRONG) {
  test(`refused: ${name}`, (t) => refused(t, recording.folder, 64, line, ...options));
}

test('refused: an unknown format, none, no output', async () => {
  for (const [options, line] of [
    [
      ['--format', 'svg', '--out', 'x'],
      /'svg' is invalid. Allowed choices are perfetto, otlp, pprof, hdr, parquet/,
    ],
    [
      ['--out', 'x'],
      /^bobtail: export needs one format \(perfetto, otlp, pprof, hdr, parquet\)\n$/,
    ],
    [['--format', 'perfetto'], /^bobtail: export needs one output \(--out or a file\)\n$/],
    [['--to', 'hdr'], /^bobtail: export needs one output/],
    [['--to', 'hdr', 'x', '--out', 'y'], /^bobtail: export takes one output \(y and x\)\n$/],
    [
      ['--to', 'hdr', '--format', 'otlp', 'x'],
      /^bobtail: export takes one format \(otlp and hdr\)/,
    ],
    [['--to', 'hdr', '--to', 'pprof', 'x'], /^bobtail: export takes one format \(hdr and pprof\)/],
    [
      ['--to', 'svg', 'x', '--format', 'hdr'],
      /^bobtail: --to takes a format .* or seconds \(svg\)/,
    ],
    [['--to', '1', '--to', '2', '--format', 'hdr', 'x'], /--to is given one time \(1 and 2\)\n$/],
    [['--to', 'hdr', 'x', 'y'], /too many arguments/],
  ]) {
    const { code, stderr } = await runBobtail(['export', recording.folder, ...options]);
    assert.equal(code, 64);
    assert.match(stderr, line);
  }
});

test('--to FORMAT FILE is --format FORMAT --out FILE, also beside an end of time', async (t) => {
  const cwd = makeFolder(t);
  const { folder } = recording;
  for (const args of [
    ['--format', 'otlp', '--out', 'long.json', '--to', '9h', '--all'],
    ['--to', 'otlp', 'short.json', '--to', '9h', '--all'],
  ]) {
    const { code, stderr } = await runBobtail(['export', folder, ...args, '--quiet'], { cwd });
    assert.equal(code, 0, stderr);
    assert.equal(stderr, '');
  }
  const first = await runBobtail(['export', '--to', 'otlp', folder, 'mixed.json', '--all'], {
    cwd,
  });
  assert.equal(first.code, 0, first.stderr);
  const [long, short, mixed] = ['long', 'short', 'mixed'].map((name) =>
    readFileSync(join(cwd, `${name}.json`), 'utf8'),
  );
  assert.ok(long.length > 1000);
  assert.equal(short, long);
  assert.equal(mixed, long);
});

/** A copy of the recording with its trace changed. */
function changed(t, change) {
  const folder = join(makeFolder(t), 'changed');
  cpSync(recording.folder, folder, { recursive: true });
  const path = join(
    folder,
    readdirSync(folder).find((name) => name.endsWith('.trace')),
  );
  writeFileSync(path, change(readFileSync(path)));
  return folder;
}

test('refused: a newer, a foreign and a damaged recording, and one of nothing', async (t) => {
  const newer = changed(t, (bytes) => {
    bytes.writeUInt32LE(99, 8);
    return bytes;
  });
  await refused(t, newer, 66, /^bobtail: trace version 99 is newer than/);
  await refused(t, makeFolder(t), 68, /^bobtail: not a recording/);
  const cut = changed(t, (bytes) => bytes.subarray(0, 4200));
  await refused(t, cut, 65, /^bobtail: damaged: no finished request is left/);
  const nothing = changed(t, () => Buffer.alloc(0));
  await refused(t, nothing, 67, /^bobtail: no finished request was recorded/);
});

test('a trace with damage inside is exported without what is damaged', async (t) => {
  const folder = changed(t, (bytes) => {
    const at = 4096 + bytes.readUInt32LE(16) + 64;
    return bytes.fill(0xff, at + 20_000, at + 20_400);
  });
  const { count } = (await analyzeReport(folder)).requests;
  for (const format of FORMATS) {
    const out = join(makeFolder(t), 'out');
    const { requests, losses } = await exportRecording(folder, format, out, { all: true });
    assert.equal(requests, count);
    assert.equal(losses.damaged, 1);
  }
});

test('an output that cannot be written is told, and none is left', async (t) => {
  const folder = makeFolder(t);
  const { folder: from } = recording;
  mkdirSync(join(folder, 'there'));
  for (const [out, code, line] of [
    ['/proc/none/out', 73, /^bobtail: cannot write: .*\(\/proc\/none\/out\)\n$/],
    [folder, 73, /^bobtail: cannot write: (is a folder|exists already) \(/],
    [join(folder, 'none', 'out'), 73, /^bobtail: cannot write: no such file/],
  ]) {
    for (const format of FORMATS) {
      const args = ['export', from, '--format', format, '--out', out];
      const result = await runBobtail(args);
      assert.equal(result.code, code, result.stderr);
      assert.match(result.stderr, line);
    }
  }
  const full = ['export', from, '--format', 'perfetto', '--out', '/dev/full'];
  const result = await runBobtail(full);
  assert.equal(result.code, 74);
  assert.equal(result.stderr, 'bobtail: disk full (/dev/full)\n');
  assert.deepEqual(readdirSync(folder), ['there']);
});

test('a file is replaced as a whole, also behind a link; a device is written to', async (t) => {
  const folder = makeFolder(t);
  const out = join(folder, 'out');
  const link = join(folder, 'link');
  writeFileSync(out, 'old');
  symlinkSync(out, link);
  await exportRecording(recording.folder, 'perfetto', link);
  assert.deepEqual(readdirSync(folder).sort(), ['link', 'out']);
  const args = [MAIN, 'export', recording.folder, '--format', 'perfetto', '-q'];
  const command = '"$0" "$@" --out /dev/stdout | cat';
  const piped = spawnSync('bash', ['-c', command, process.execPath, ...args], {
    cwd: PACKAGE,
    maxBuffer: 2 ** 28,
  });
  assert.equal(String(piped.stderr), '');
  assert.ok(piped.stdout.equals(readFileSync(out)), 'the same bytes each time');
});

test('an interrupted export leaves nothing, and ends by the signal', async (t) => {
  const folder = makeFolder(t);
  // Half an output for as long as it is not ended, which no recording is big enough for.
  const script = `
    const { writeWhole } = require(${JSON.stringify(join(PACKAGE, 'dist/cli/export/output-file'))});
    writeWhole(${JSON.stringify(join(folder, 'out'))}, 'file', (path) => {
      require('node:fs').writeFileSync(path, 'half');
      console.log('half');
      return new Promise(() => setInterval(() => undefined, 1000));
    });`;
  for (const expected of ['SIGINT', 'SIGTERM']) {
    const child = spawn(process.execPath, ['-e', script]);
    child.stdout.once('data', () => child.kill(expected));
    const [code, signal] = await once(child, 'exit');
    assert.deepEqual([code, signal], [null, expected]);
    assert.deepEqual(readdirSync(folder), []);
  }
});

test('the tail, a route, a time, ids: each choice is what the report tells', async (t) => {
  const folder = makeFolder(t);
  const count = async (selection) => {
    const out = join(folder, 'out');
    return (await exportRecording(recording.folder, 'perfetto', out, selection)).requests;
  };
  const report = await analyzeReport(recording.folder);
  assert.equal(await count({}), report.tail.count);
  const median = await analyzeReport(recording.folder, { percentile: 50 });
  assert.equal(await count({ percentile: 50 }), median.tail.count);
  assert.equal(await count({ all: true }), report.requests.count);
  const all = await analyzeRequests(recording.folder, { all: true });
  const of = (route) => all.filter((one) => one.route === route);
  assert.equal(await count({ route: 'GET /block' }), of('GET /block').length);
  assert.equal(await count({ route: 'GET /block', slowest: 3 }), 3);
  assert.equal(await count({ requests: [all[7].id, all[9].id] }), 2);
  assert.equal(await count({ fromNs: 0, toNs: report.run.durationNs }), report.requests.count);
});
