// What makes the host of a virtual machine take its time: cores that sleep and wake, or cores that
// work?
//
//   node bench/stolen/run.mjs [--rounds 10] [--seconds 5] --out DIR
//
// Each core is busy for 5 ms of every 10, the same beside a process that lets everything else go
// before it and never sleeps (`spinners.mjs`), or busy all the time. In an order of its own in
// each round, since the host has its phases.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { stolenSince } from '../harness/cpu.mjs';
import { quartiles, shuffled } from '../harness/statistics.mjs';
import { spinOn } from './spinners.mjs';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '5' },
    out: { type: 'string' },
  },
});
if (values.out === undefined) throw new Error('--out DIR is missing');
const HALF = `
  setInterval(() => {
    const endMs = performance.now() + 5;
    while (performance.now() < endMs);
  }, 10);
`;
const FULL = 'for (;;);';
const ARMS = {
  'half busy': { code: HALF, isAwake: false },
  'half busy, never idle': { code: HALF, isAwake: true },
  busy: { code: FULL, isAwake: false },
};
const cores = cpus().map((_, core) => core);

/** What the host took of each core meanwhile, as a share. */
async function stolenShare({ code, isAwake }) {
  const stop = spinOn(isAwake ? cores : []);
  const busy = cores.map((core) =>
    spawn('taskset', ['-c', String(core), process.execPath, '-e', code], { stdio: 'ignore' }),
  );
  const stolen = stolenSince();
  await sleep(Number(values.seconds) * 1000);
  const share = stolen() / cores.length;
  const ended = busy.map((child) => once(child, 'exit'));
  for (const child of busy) child.kill('SIGKILL');
  await Promise.all(ended);
  stop();
  return share;
}

const rows = [];
for (let round = 1; round <= Number(values.rounds); round += 1) {
  for (const arm of shuffled(Object.keys(ARMS))) {
    rows.push({ round, arm, stolenShare: await stolenShare(ARMS[arm]) });
  }
}
mkdirSync(values.out, { recursive: true });
const lines = rows.map((row) => `${JSON.stringify(row)}\n`);
writeFileSync(join(values.out, 'rows.jsonl'), lines.join(''));
for (const name of Object.keys(ARMS)) {
  const shares = rows.filter(({ arm }) => arm === name).map((row) => row.stolenShare * 100);
  const { median, low, high } = quartiles(shares);
  const told = [median, low, high].map((one) => one.toFixed(1));
  process.stdout.write(`${name}: ${told[0]} % stolen (${told[1]}–${told[2]})\n`);
}
