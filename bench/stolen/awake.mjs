// How often cores are stopped that sleep now and then, and how often where they are kept from it.
//
//   sudo node bench/stolen/awake.mjs [--rounds 10] [--seconds 5] --out DIR
//
// The servers' core works for 1 ms and sleeps for 1 ms, the load's works for 2 and sleeps for 1.
// Kept awake by a process of the lowest priority on one core or on both, or by the kernel
// (`workloads/harness/awake.mjs`). Single stalls are counted, by a thread above all others on each
// core: they, and not the ticks that the kernel tells, leave requests out.
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { keepAwake } from '../../workloads/harness/awake.mjs';
import { LOAD_CORE, SERVER_CORE } from '../harness/cpu.mjs';
import { StallWatch } from '../harness/stalls.mjs';
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

/** Each gives what ends it. */
const ARMS = {
  'neither awake': () => () => undefined,
  "the servers', by a process": () => spinOn([SERVER_CORE]),
  'both, by processes': () => spinOn([SERVER_CORE, LOAD_CORE]),
  'both, by the kernel': () => keepAwake(),
};
const WORK = `
  const workMs = Number(process.argv[1]);
  const work = () => {
    const endMs = performance.now() + workMs;
    while (performance.now() < endMs);
    setTimeout(work, 1);
  };
  work();
`;

function working(core, workMs) {
  const args = ['-c', String(core), process.execPath, '-e', WORK, String(workMs)];
  return spawn('taskset', args, { stdio: 'ignore' });
}

/** How often and for how long cores were stopped, of each second. */
async function stallsOf(keep) {
  const letSleep = keep();
  try {
    await sleep(500);
    await watch.taken();
    await sleep(Number(values.seconds) * 1000);
    const stalls = await watch.taken();
    const lateMs = stalls.reduce((sum, stall) => sum + stall.lateMs, 0);
    return [stalls.length, lateMs].map((all) => all / Number(values.seconds));
  } finally {
    letSleep();
  }
}

const watch = await StallWatch.start([SERVER_CORE, LOAD_CORE]);
const workers = [working(SERVER_CORE, 1), working(LOAD_CORE, 2)];
const rows = [];
try {
  for (let round = 1; round <= Number(values.rounds); round += 1) {
    for (const arm of shuffled(Object.keys(ARMS))) {
      const [stallsPerS, lateMsPerS] = await stallsOf(ARMS[arm]);
      rows.push({ round, arm, stallsPerS, lateMsPerS });
    }
  }
} finally {
  for (const worker of workers) worker.kill('SIGKILL');
  await watch.stop();
}
mkdirSync(values.out, { recursive: true });
const lines = rows.map((row) => `${JSON.stringify(row)}\n`);
writeFileSync(join(values.out, 'rows.jsonl'), lines.join(''));
for (const name of Object.keys(ARMS)) {
  const told = ['stallsPerS', 'lateMsPerS'].map((figure) => {
    const each = rows.filter(({ arm }) => arm === name).map((row) => row[figure]);
    const { median, low, high } = quartiles(each);
    return `${median.toFixed(1)} (${low.toFixed(1)}–${high.toFixed(1)})`;
  });
  process.stdout.write(`${name}: ${told[0]} stalls a second, ${told[1]} ms of each second\n`);
}
