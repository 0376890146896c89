/** Folders that are no good recording: one line and a code for each way of being wrong. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeFolder, runBobtail } from './run-bobtail.mjs';

const RUN = {
  schema: 'bobtail-run/1',
  command: ['node', 'x.js'],
  startedAt: '2026-11-21T03:00:00.000Z',
  detail: 'full',
  warmupNs: 0,
  maxBytes: 1_048_576,
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
  ['another run.json', { 'run.json': '{"schema":"x"}' }, 65, /^bobtail: damaged: .*run\.json\)\n$/],
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
