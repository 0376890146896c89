// What V8's helpers cost a loop that shares its core with them: a service with four helpers,
// another like it, one with a single helper, one with four that yield, and two with four on the
// load's core, where they go before the load or yield to it, under the same load.
//
//   sudo node --single-threaded-gc bench/boost/v8-threads.mjs [--service disk] [--rate 1300]
//     [--turns N] [--rounds N] [--arms a,b] [--node PATH]
//
// A line for each turn in which somebody waited long, and after each round all latencies so far.
// Needs the kernel's schedstat, as all of this experiment does.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { seededRandom, shuffled } from '../../packages/bobtail/dist/prove/shuffle.js';
import { keepAwake } from '../../workloads/harness/awake.mjs';
import {
  collectsAlone,
  LOAD_CORE,
  SERVER_CORE,
  threadNs,
  yieldToDatabases,
} from '../harness/cpu.mjs';
import { openLoop } from '../harness/open-loop.mjs';
import { disturbedBy, StallWatch } from '../harness/stalls.mjs';
import { BASE_FLAGS, BASE_POLICY } from './arms.mjs';
import { BoostedService } from './service.mjs';
import { driven, SharedLever } from './shared-lever.mjs';
import { requests, settle, warm } from './warm.mjs';

const TURN_MS = 2000;
const BEGIN_MS = 200;
const LONG_MS = 30;
const VERY_LONG_MS = 60;
const ORDINARY = { V8_HELPERS: 'ordinary' };
/** The first twice, so that what differs between two of a kind is seen, too. */
const ARMS = {
  ordinary: { environment: ORDINARY },
  one: { environment: ORDINARY, more: ['--v8-pool-size=1'] },
  yielding: { environment: { V8_HELPERS: 'yield' } },
  aside: { environment: {} },
  'aside yielding': { environment: { V8_HELPERS: `yield,cpu:${LOAD_CORE}` } },
  'ordinary again': { environment: ORDINARY },
};

const { values } = parseArgs({
  options: {
    service: { type: 'string', default: 'cpu' },
    rate: { type: 'string', default: '1300' },
    turns: { type: 'string', default: '14' },
    rounds: { type: 'string', default: '3' },
    arms: { type: 'string' },
    node: { type: 'string', default: join('node_modules', 'node24', 'bin', 'node') },
  },
});
const ratePerS = Number(values.rate);
const names = values.arms?.split(',') ?? Object.keys(ARMS);

/** CPU milliseconds of V8's helpers of a service so far. */
function helpersMs(pid) {
  const name = (thread) => readFileSync(`/proc/${pid}/task/${thread}/comm`, 'utf8').trim();
  const helpers = readdirSync(`/proc/${pid}/task`).filter((one) => name(one).endsWith('V8Worker'));
  return helpers.reduce((sum, thread) => sum + threadNs(pid, thread), 0) / 1e6;
}

async function start({ environment, more = [] }, seed, drive) {
  const { service, node } = values;
  const flags = [...BASE_FLAGS, ...more];
  const how = { service, node, environment, workers: 0, policy: BASE_POLICY, flags };
  const started = await BoostedService.start({ ...how, seed, drive });
  await warm(started.connections);
  await settle(started.connections, ratePerS, seed);
  // Throws where it was not given its speed.
  await started.driven();
  return started;
}

/** One turn: the latencies in ms that no stall of a CPU disturbed, and what helpers ran. */
async function turn({ connections, running }, stalls, seed) {
  const before = helpersMs(running.pid);
  await stalls.taken();
  const fromMs = performance.now() + BEGIN_MS;
  const random = seededRandom(seed);
  const load = { requests, ratePerS, durationMs: BEGIN_MS + TURN_MS, random };
  const answered = await openLoop(connections, load);
  const isDisturbed = disturbedBy([...(await stalls.taken()), ...answered.stalls]);
  const counts = (due) => due >= fromMs && !isDisturbed(due);
  const latenciesMs = answered.latenciesMs.filter((_, index) => counts(answered.dueMs[index]));
  return { latenciesMs, helpedMs: helpersMs(running.pid) - before };
}

const longer = (latenciesMs, ms) => latenciesMs.filter((one) => one > ms).length;

function told(latenciesMs) {
  const sorted = latenciesMs.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.floor(sorted.length * share)]?.toFixed(1);
  const percentiles = `p50 ${at(0.5)} p99 ${at(0.99)} p99.9 ${at(0.999)} ms`;
  const counts = [LONG_MS, VERY_LONG_MS].map((ms) => `${longer(sorted, ms)} over ${ms} ms`);
  return `${sorted.length} requests: ${percentiles}, ${counts.join(', ')}`;
}

async function takeRound(round, stalls, all) {
  const lever = await SharedLever.start('20us');
  const services = new Map();
  try {
    for (const arm of names) {
      services.set(arm, await start(ARMS[arm], round + 1, lever.drive));
    }
    for (let number = 0; number < Number(values.turns); number += 1) {
      const order = shuffled([...services], seededRandom(round * 97 + number));
      for (const [arm, service] of order) {
        const { latenciesMs, helpedMs } = await turn(service, stalls, round * 1000 + number);
        all[arm].push(...latenciesMs);
        const many = longer(latenciesMs, LONG_MS);
        if (many > 0) {
          const what = `${many} of ${latenciesMs.length} over ${LONG_MS} ms`;
          console.log(`${round} ${number} ${arm}: ${what}, helpers ran ${helpedMs.toFixed(0)} ms`);
        }
      }
    }
  } finally {
    for (const service of services.values()) await service.stop();
    await lever.stop();
  }
}

collectsAlone();
yieldToDatabases();
keepAwake();
const stalls = await StallWatch.start([SERVER_CORE, LOAD_CORE]);
const all = Object.fromEntries(names.map((arm) => [arm, []]));
for (let round = 0; round < Number(values.rounds); round += 1) {
  await driven(() => takeRound(round, stalls, all));
  for (const [arm, latenciesMs] of Object.entries(all))
    console.log(`= ${arm}: ${told(latenciesMs)}`);
}
await stalls.stop();
