// The paper's Tables 6 and 7 by ourselves, at an emulated frequency: services with real I/O, open
// load, a fresh seeded server for each arm of each round.
//
//   node --single-threaded-gc bench/boost/run.mjs [--first-round 1] [--rounds 10]
//     [--requests 50000] [--services cpu,redis,…] [--arms gc-boost,…] [--latency 20us]
//     [--workers 0] [--tuned=--flag] [--seconds-max S] [--node PATH] [--out DIR] [--scratch DIR]
//     [--one-service] [--utilisation 0.475] [--promise-hooks]
//
// Needs root (real-time threads) and two CPUs: the servers on one, load and databases on the other.
// With `--one-service` there is one server for all arms, which has their policies in turns.
// A round's number is its seed: `--first-round` goes on with those that another run has not had.
// `--utilisation` is the part of the time that the load keeps their core busy at the base speed.
// With `--promise-hooks` those that are not recorded have empty ones, so that V8 treats them as one
// that is (`HOOKED` of `arms.mjs`).
// A round of a service is written when it is done, and a run goes on where the last one stopped: a
// round that was cut off (`--seconds-max`, Ctrl-C) is begun anew. `tables.mjs` makes tables.
// Requests that came while a CPU did not run are left out, and counted; a round in which too few
// count is measured again (the first is kept in `stolen.jsonl`). Recordings, where the arms
// `recorded` and `recorded-tuned` are asked for, go to `--scratch`, for `predict.mjs`.
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { seededRandom, shuffled } from '../../packages/bobtail/dist/prove/shuffle.js';
import { collectsAlone, LOAD_CORE, SERVER_CORE, yieldToDatabases } from '../harness/cpu.mjs';
import { hostText } from '../harness/host.mjs';
import { LatencyHistogram } from '../harness/latency-histogram.mjs';
import { StallWatch } from '../harness/stalls.mjs';
import { armsOf, HOOKED, SERVICES, UNHOOKED, USUAL } from './arms.mjs';
import { besideDatabases, overdueAfter } from './pieces.mjs';
import { answerPath, nameOf as predictionNameOf, scratchOf } from './predicted.mjs';
import { calibratedRate, UTILISATION } from './rate.mjs';
import { takeRound } from './round.mjs';
import { driven } from './shared-lever.mjs';
import { tunedFlags } from './tuned.mjs';

const text = (fallback) => ({ type: 'string', default: fallback });
const { values } = parseArgs({
  options: {
    'first-round': text('1'),
    rounds: text('10'),
    requests: text('50000'),
    services: text(Object.keys(SERVICES).join(',')),
    arms: text(USUAL.join(',')),
    latency: text('20us'),
    utilisation: text(String(UTILISATION)),
    workers: text('0'),
    tuned: { type: 'string' },
    'seconds-max': text('0'),
    node: text(join('node_modules', 'node24', 'bin', 'node')),
    out: text(join('bench', 'runs', `${new Date().toISOString().slice(0, 10)}-boost`)),
    scratch: { type: 'string' },
    'one-service': { type: 'boolean', default: false },
    'promise-hooks': { type: 'boolean', default: false },
  },
});
/**
 * How slow a core may be for a tenth of a second that counts. What a request takes of it goes with
 * it. That of the load has less to do, and only is not to be late.
 */
const SLOWNESS_MAX = new Map([
  [SERVER_CORE, 1.3],
  [LOAD_CORE, 1.4],
]);
/** A round that the host spoiled is never kept. */
const TRIALS_MAX = 20;

const utilisation = Number(values.utilisation);
for (const name of values.services.split(',').filter((one) => SERVICES[one] === undefined)) {
  process.stderr.write(`no service ${name}; there are ${Object.keys(SERVICES)}\n`);
  process.exit(64);
}
if (!(utilisation > 0 && utilisation < 1)) {
  process.stderr.write(`--utilisation is ${values.utilisation}, not between 0 and 1\n`);
  process.exit(64);
}
const firstRound = Number(values['first-round']);
if (!(Number.isInteger(firstRound) && firstRound >= 1)) {
  process.stderr.write(`--first-round is ${values['first-round']}, not a number of 1 or more\n`);
  process.exit(64);
}
/** All arms have one server. */
const isOneService = values['one-service'];
const isHooked = values['promise-hooks'];
const isOverdue = overdueAfter(Number(values['seconds-max']));

function nameOf(service) {
  return Number(values.workers) > 0 ? `${service}-cluster` : service;
}

function recordingName(service, kind, round) {
  return predictionNameOf({ service: nameOf(service), kind, round });
}

/** A round that is measured anew has no prediction of the one before. */
function forgetPredicted(service, round, arms) {
  for (const { recordedKind: kind } of arms.filter((one) => one.recordedKind !== undefined)) {
    rmSync(answerPath(values.out, recordingName(service, kind, round)), { force: true });
  }
}

/** A round again while the host took too much of its time; what is thrown away is kept aside. */
async function quietRound(service, round, arms, context) {
  const about = { service: nameOf(service), round };
  for (let trial = 0; trial < TRIALS_MAX; trial += 1) {
    const { cells, isWhole } = await driven(() => roundOf(service, round, arms, context));
    if (isWhole) return cells;
    const lines = cells.map((cell) => `${JSON.stringify({ ...about, ...cell })}\n`);
    appendFileSync(join(values.out, 'stolen.jsonl'), lines.join(''));
    if (isOverdue()) return null;
  }
  throw new Error(`the host spoiled a round of ${service} ${TRIALS_MAX} times: try another time`);
}

async function roundOf(service, round, arms, context) {
  const seed = round * 1000 + 7;
  const how = { ...context, service, latency: values.latency, isOneService };
  // Who comes after whom on one service is that order for a whole round: not the same for all.
  const orderSeed = isOneService ? 31 * seed + services.indexOf(service) : seed;
  const recordingOf = (kind) => join(scratch, recordingName(service, kind, round));
  const ratePerS = await calibratedRate({ ...how, utilisation });
  return takeRound({
    ...{ ...how, recordingOf, tuned: tuned(service), sent: Number(values.requests), seed },
    ...{ ratePerS, arms: shuffled(arms, seededRandom(orderSeed)) },
  });
}

/** All rounds, or as much of them as there is time for. */
async function run(databases) {
  const environment = { ...databases, ...(isHooked ? HOOKED : UNHOOKED) };
  const stalls = await StallWatch.start([SERVER_CORE, LOAD_CORE]);
  for (const [cpu, slownessMax] of SLOWNESS_MAX) stalls.pace.limit(cpu, slownessMax);
  yieldToDatabases();
  try {
    await takeRounds({ workers: Number(values.workers), node: values.node, environment, stalls });
  } finally {
    await stalls.stop();
  }
}

async function takeRounds(context) {
  const arms = armsOf(values.arms.split(','));
  describe();
  for (let round = firstRound; round < firstRound + Number(values.rounds); round += 1) {
    for (const service of services) {
      const path = join(values.out, 'rounds', `${nameOf(service)}-${round}.jsonl`);
      if (existsSync(path)) continue;
      if (isOverdue()) return;
      forgetPredicted(service, round, arms);
      const cells = await quietRound(service, round, arms, context);
      if (cells === null) return;
      const lines = cells.map((cell) => `${JSON.stringify({ round, ...cell })}\n`);
      writeFileSync(path, lines.join(''));
      for (const { arm, latencies, boosts } of cells) {
        const p99 = LatencyHistogram.fromText(latencies).percentileMs(99);
        const told = [service, `round ${round}`, arm, `p99 ${p99?.toFixed(1)} ms`];
        const boosted = boosts === undefined ? [] : [`${boosts} boosts`];
        process.stderr.write(`${[...told, ...boosted].join(' · ')}\n`);
      }
    }
  }
}

function describe() {
  const version = execFileSync(values.node, ['-p', 'process.versions.node'], { encoding: 'utf8' });
  const host = hostText();
  const { requests: count, latency } = values;
  const path = join(values.out, 'about.json');
  const before = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
  const own = Object.fromEntries(services.map((service) => [service, tuned(service)]));
  // Also of services that ran before, and where.
  const flags = typeof before.tuned === 'string' ? own : { ...before.tuned, ...own };
  const hosts = [...new Set([...(before.host?.split('; ') ?? []), host])].join('; ');
  const requests = Number(count);
  if (existsSync(path)) refuseOthers(path, before);
  const how = { tuned: flags, latency, utilisation, isOneService, isHooked };
  const about = { node: version.trim(), host: hosts, requests, ...how };
  writeFileSync(path, `${JSON.stringify(about, null, 2)}\n`);
}

/** To rounds under another load, or with another lever, none is added. */
function refuseOthers(path, before) {
  for (const [option, had, has] of [
    ['--one-service', before.isOneService ?? false, isOneService],
    ['--promise-hooks', before.isHooked ?? false, isHooked],
  ]) {
    if (had === has) continue;
    throw new Error(`${path} is of rounds with and not without ${option}, or the reverse`);
  }
  const { utilisation: wasBusy = UTILISATION, latency: wasLate = values.latency } = before;
  for (const [option, was, is] of [
    ['--utilisation', wasBusy, utilisation],
    ['--latency', wasLate, values.latency],
  ]) {
    if (was !== is) throw new Error(`${path} is of rounds with ${option} ${was}, not ${is}`);
  }
}

const scratch = values.scratch ?? scratchOf(values.out);
collectsAlone();
mkdirSync(join(values.out, 'rounds'), { recursive: true });
mkdirSync(scratch, { recursive: true });
const services = values.services.split(',');
const tuned = tunedFlags(values.out, values.tuned);
await besideDatabases(services, run);
