// What a look of the thread of `boost` that decides takes of the processor, on this machine.
//
//   node bench/peers/look-cost.mjs [--service express] [--seconds 10] [--budget 1]
//
// Most of it is the kernel's: to set a timer, to wake the thread and to leave it again. That is the
// machine's affair, and what a budget for looking is worth follows from it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { readDriverFiles } from '../../packages/bobtail/dist/cli/boost/driver-file.js';
import { threadsNow } from '../boost/overdue.mjs';
import { LOAD_CORE, pin } from '../harness/cpu.mjs';
import { openLoop, requestBytes } from '../harness/open-loop.mjs';
import { prepareArm } from './arms.mjs';
import { CONNECTIONS, SERVICES } from './cell.mjs';
import { Service } from './service.mjs';

const THREAD = 'bobtail-act';
/** It tells its counters each second. */
const TOLD_MS = 1100;

const { values } = parseArgs({
  options: {
    service: { type: 'string', default: 'express' },
    seconds: { type: 'string', default: '10' },
    budget: { type: 'string', default: '1' },
  },
});

/** CPU time of the thread that decides. */
function deciderNs(pid) {
  const own = threadsNow(pid).find(({ name }) => name === THREAD);
  if (own === undefined) throw new Error(`process ${pid} has no thread ${THREAD}: nobody decides`);
  return own.ranNs;
}

/** What was done so far, once the service has told of it. */
async function seen(service, folder) {
  await sleep(TOLD_MS);
  const [{ counters }] = readDriverFiles(folder);
  return { looks: counters.looks, ownNs: deciderNs(service.pid), allNs: service.cpuNs() };
}

async function measure(service, folder, load) {
  await openLoop(service.connections, { ...load, durationMs: 3000 });
  const before = await seen(service, folder);
  await openLoop(service.connections, { ...load, durationMs: 1000 * Number(values.seconds) });
  const after = await seen(service, folder);
  const looks = after.looks - before.looks;
  const ownNs = after.ownNs - before.ownNs;
  const share = ownNs / (after.allNs - before.allNs - ownNs);
  const each = `${looks} looks of ${(ownNs / looks / 1000).toFixed(1)} µs`;
  return `${each}, ${(100 * share).toFixed(2)} % of what the service takes`;
}

const { paths, ratePerS } = SERVICES[values.service];
const scratch = mkdtempSync(join(tmpdir(), 'bobtail-look-cost-'));
const arm = prepareArm('boost', { major: 24, scratch });
const drive = { ...JSON.parse(arm.env.BOBTAIL_BOOST), budget: Number(values.budget) / 100 };
arm.env.BOBTAIL_BOOST = JSON.stringify(drive);
pin(process.pid, LOAD_CORE);
const service = await Service.start('boost', {
  node: process.execPath,
  service: values.service,
  arm,
  environment: {},
  connections: CONNECTIONS,
});
try {
  const load = { requests: paths.map((path) => requestBytes(path)), ratePerS };
  console.log(`${values.service}: ${await measure(service, arm.env.BOBTAIL_BOOST_DIR, load)}`);
} finally {
  service.stop();
  rmSync(scratch, { recursive: true, force: true });
}
process.exit(0);
