/** Folders that are no good recording: one line and a code for each way of being wrong. */
import assert from 'node:assert/strict';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { makeFolder, runBobtail, SERVER } from './run-bobtail.mjs';

const RUN = {
  schema: 'bobtail-run/1',
  command: ['node', 'x.js'],
  startedAt: '2026-11-21T03:00:00.000Z',
  detail: 'full',
  warmupNs: 0,
  maxBytes: 1_048_576,
  maxTotalBytes: 4_194_304,
  bursts: null,
  notRunning: false,
  outcome: null,
  host: { arch: 'x64', cpus: 2, kernel: '6.1.0', stealNs: null },
};

/** A trace header of this version, and nothing behind it. */
function header(version) {
  const page = Buffer.alloc(4096);
  page.write('BOBTAIL\n', 'latin1');
  page.writeUInt32LE(version, 8);
  page.writeUInt32LE(4096, 12);
  return page;
}

const CASES = [
  ['no such folder', {}, 68, /^bobtail: not a recording: no such folder \(there\)\n$/, false],
  ['an empty folder', {}, 68, /^bobtail: not a recording: .*neither run\.json nor a trace/],
  [
    'another run.json',
    { 'run.json': '{"schema":"x"}' },
    68,
    /^bobtail: not a recording: schema "x"/,
  ],
  [
    'a newer run.json',
    { 'run.json': '{"schema":"bobtail-run/2"}' },
    66,
    /newer Bobtail: schema "bob/,
  ],
  ['half a run.json', { 'run.json': '{"sch' }, 65, /^bobtail: damaged: EOF .*run\.json\)\n$/],
  ['no trace', { 'run.json': JSON.stringify(RUN) }, 67, /^bobtail: no finished request/],
  ['a foreign file', { '1-0.trace': 'GIF89a..' }, 68, /^bobtail: not a Bobtail trace.*1-0\.trace/],
  ['a newer trace', { '1-0.trace': header(2) }, 66, /^bobtail: trace version 2 is newer than 1/],
  ['half a header', { '1-0.trace': header(1).subarray(0, 99) }, 65, /^bobtail: trace ends at byte/],
];

for (const [name, files, code, line, exists = true] of CASES) {
  for (const verb of ['report', 'explain']) {
    test(`${verb}: ${name}`, async (t) => {
      const cwd = makeFolder(t);
      if (exists) {
        mkdirSync(join(cwd, 'there'));
      }
      for (const [file, content] of Object.entries(files)) {
        writeFileSync(join(cwd, 'there', file), content);
      }
      const result = await runBobtail([verb, 'there', '--json'], { cwd });
      assert.equal(result.code, code, result.stderr);
      assert.match(result.stderr, line);
      assert.equal(result.stderr.trimEnd().split('\n').length, 1);
      assert.equal(result.stdout, '');
    });
  }
}

const HEADER_BYTES = 4096;
const CHUNK_HEADER_BYTES = 64;
const LOAD = `"${process.execPath}" -e "
  (async () => {
    for (let i = 0; i < 20; i++) {
      await (await fetch('http://127.0.0.1:' + process.env.PORT + '/' + i)).text();
    }
  })()"`;

let home;
let recording;

before(async () => {
  home = mkdtempSync(join(tmpdir(), 'bobtail-damage-'));
  const args = ['record', '--no-report', '--on-port', LOAD, '--', process.execPath, SERVER];
  const { code, stderr } = await runBobtail(args, { cwd: home });
  assert.equal(code, 0, stderr);
  recording = join(home, 'recording.bobtail');
});

after(() => rmSync(home, { recursive: true, force: true }));

/** Where the chunks of a trace that hold something begin. */
function chunksOf(bytes) {
  const [strings, chunk] = [bytes.readUInt32LE(16), bytes.readUInt32LE(20)];
  const offsets = [];
  for (let at = HEADER_BYTES + strings; at + CHUNK_HEADER_BYTES <= bytes.length; at += chunk) {
    if (bytes.readBigUInt64LE(at + 8) !== 0n) offsets.push(at);
  }
  assert.ok(offsets.length > 0);
  return offsets;
}

const DAMAGE = [
  [
    'cut inside the string table',
    (bytes) => bytes.subarray(0, HEADER_BYTES + 10),
    /, trace ends at byte 4106, inside the string table \(.*\.trace\)\n$/,
  ],
  [
    'cut behind the strings in use',
    (bytes) => bytes.subarray(0, 700_000),
    /, events that it counts are in none of its chunks \(.*\.trace\)\n$/,
  ],
  [
    'the magic of the chunks zeroed',
    (bytes) => {
      for (const at of chunksOf(bytes)) bytes.fill(0, at, at + 4);
      return bytes;
    },
    /, chunk \d+ is damaged: chunk magic is 0x00000000 \(byte \d+\).* \(.*\.trace\)\n$/,
  ],
  [
    'bad bytes where the records begin',
    (bytes) => {
      for (const at of chunksOf(bytes)) {
        bytes.fill(0xff, at + CHUNK_HEADER_BYTES, at + CHUNK_HEADER_BYTES + 400);
      }
      return bytes;
    },
    /, chunk \d+ is damaged: tag byte 0xff is no record \(byte \d+\).* \(.*\.trace\)\n$/,
  ],
];

for (const [name, damage, where] of DAMAGE) {
  test(`no request is left: ${name}`, async (t) => {
    const folder = join(makeFolder(t), 'damaged');
    cpSync(recording, folder, { recursive: true });
    const trace = readdirSync(folder).find((file) => file.endsWith('.trace'));
    const path = join(folder, trace);
    writeFileSync(path, damage(readFileSync(path)));
    for (const verb of ['report', 'explain']) {
      const { code, stderr, stdout } = await runBobtail([verb, folder, '--json']);
      assert.equal(code, 65, stderr);
      assert.match(stderr, /^bobtail: damaged: no finished request is left, /);
      assert.match(stderr, where);
      assert.equal(stdout, '');
    }
  });
}
