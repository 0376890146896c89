// How long the loop of a service waits while its driver tells once a second what it did: a file
// written and renamed, on a disk and in memory, in turns.
//
//   node bench/boost/telling.mjs [--seconds 60] [--disk DIR]
//
// Beside it another process writes to the same disk and has it flushed, as a service's log may be.
import { spawn } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { memoryPlace } from '../../packages/bobtail/dist/cli/boost/memory-place.js';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    disk: { type: 'string', default: tmpdir() },
  },
});
/** About as long as the counters are. */
const TEXT = 'x'.repeat(1500);
const EVERY_MS = 50;
const BUSY = `
  const { fsyncSync, openSync, rmSync, writeSync } = require('node:fs');
  const path = process.argv[1];
  const file = openSync(path, 'w');
  process.on('SIGTERM', () => { rmSync(path); process.exit(); });
  setInterval(() => { writeSync(file, 'x'.repeat(65536)); fsyncSync(file); }, 50);
`;

function tellIn(folder) {
  const beganMs = performance.now();
  writeFileSync(join(folder, 'told.tmp'), TEXT);
  renameSync(join(folder, 'told.tmp'), join(folder, 'told'));
  return performance.now() - beganMs;
}

async function timesIn(places) {
  const times = places.map(() => []);
  const endMs = performance.now() + Number(values.seconds) * 1000;
  while (performance.now() < endMs) {
    places.forEach((folder, at) => void times[at].push(tellIn(folder)));
    await sleep(EVERY_MS);
  }
  return times.map((all) => all.sort((a, b) => a - b));
}

const places = [values.disk, memoryPlace()].map((where) =>
  mkdtempSync(join(where, 'bobtail-bench-')),
);
console.log('place | beside it | times | p50, ms | p99 | longest');
try {
  for (const beside of ['nothing', 'a log that is flushed']) {
    const log = join(places[0], 'log');
    const busy = beside === 'nothing' ? null : spawn(process.execPath, ['-e', BUSY, log]);
    const times = await timesIn(places).finally(() => busy?.kill('SIGTERM'));
    for (const [at, all] of times.entries()) {
      const figures = [0.5, 0.99, 1].map((share) => all[Math.ceil(share * all.length) - 1]);
      const place = at === 0 ? 'disk' : 'memory';
      console.log([place, beside, all.length, ...figures.map((ms) => ms.toFixed(2))].join(' | '));
    }
  }
} finally {
  for (const folder of places) rmSync(folder, { recursive: true, force: true });
}
