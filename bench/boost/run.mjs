// The paper's Tables 6 and 7 by ourselves, at an emulated frequency: services with real I/O, open
// load, a fresh seeded server for each arm of each round.
//
//   node --single-threaded-gc bench/boost/run.mjs [--rounds 10] [--requests 50000]
//     [--services cpu,redis,…] [--arms gc-boost,…] [--latency 20us] [--workers 0]
//     [--tuned=--flag] [--seconds-max S] [--node PATH] [--out DIR]
//
// Needs root (real-time threads) and two CPUs: the servers on one, load and databases on the other.
// A round of a service is written when it is done, and a run goes on where the last one stopped: a
// round that was cut off (`--seconds-max`, Ctrl-C) is begun anew. `tables.mjs` makes tables.
// Requests that came while the host took time from this machine are left out (and counted), and
// others come in their place; a round in which that is too many is measured again (the first is
// kept in `stolen.jsonl`).
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { seededRandom, shuffled } from '../../packages/bobtail/dist/prove/shuffle.js';
import { collectsAlone, yieldToDatabases } from '../harness/cpu.mjs';
import { LatencyHistogram } from '../harness/latency-histogram.mjs';
import { closedLoop, openLoop } from '../harness/open-loop.mjs';
import { armsOf, BASE_FLAGS, BASE_POLICY, BASE_SPEED, SERVICES, TUNED, USUAL } from './arms.mjs';
import { besideDatabases, overdueAfter } from './pieces.mjs';
import { ratesIn } from './rates.mjs';
import { takeRound } from './round.mjs';
import { BoostedService } from './service.mjs';
import { driven, SharedLever } from './shared-lever.mjs';
import { isAsFast, SpeedProbe } from './speed.mjs';
import { CONCURRENCY, requests, warm } from './warm.mjs';

const text = (fallback) => ({ type: 'string', default: fallback });
const { values } = parseArgs({
  options: {
    rounds: text('10'),
    requests: text('50000'),
    services: text(Object.keys(SERVICES).join(',')),
    arms: text(USUAL.join(',')),
    latency: text('20us'),
    workers: text('0'),
    tuned: text(TUNED),
    'seconds-max': text('0'),
    node: text(join('node_modules', 'node24', 'bin', 'node')),
    out: text(join('bench', 'runs', `${new Date().toISOString().slice(0, 10)}-boost`)),
  },
});
const CALIBRATION_MS = 6000;
const CALIBRATION_TRIALS = 4;
/** Of what the service answers at base when it is never idle: the paper's are half busy. */
const UTILISATION = 0.475;
/** A round that the host spoiled is never kept. */
const TRIALS_MAX = 20;
/** Looks at the core's speed before each turn: one that stays another is told, not waited for. */
const LOOKS_MAX = 2;
/** And before each round, until it looks how much time is left. */
const LOOKS_WAITED = 31;

const isOverdue = overdueAfter(Number(values['seconds-max']));

/**
 * Requests per second that keep the server's loops busy for `UTILISATION` of the time, on a core
 * that does a unit in `unitMs`; kept. Null when there was no time to wait for such a core.
 */
async function rateOf(service, context) {
  const known = existsSync(join(values.out, 'rates.json')) ? ratesIn(values.out) : {};
  const name = nameOf(service);
  if (known[name] !== undefined) return known[name];
  const fastestMs = Math.min(...Object.values(known).map(({ unitMs }) => unitMs));
  if (!(await isFastIn(context, fastestMs))) return null;
  const lever = await SharedLever.start(values.latency);
  try {
    const rate = await calibrated({ ...context, service, drive: lever.drive });
    const path = join(values.out, 'rates.json');
    writeFileSync(path, `${JSON.stringify({ ...known, [name]: rate }, null, 2)}\n`);
    return rate;
  } finally {
    await lever.stop();
  }
}

/**
 * Open load costs more per request than a closed loop, which finds the loop always awake, so that
 * is only where it begins. The last trial is one in which the core stayed as fast.
 */
async function calibrated({ speed, ...context }) {
  const how = { policy: BASE_POLICY, flags: BASE_FLAGS, seed: 1 };
  const service = await BoostedService.start({ ...context, ...how });
  try {
    const { connections } = service;
    const load = { requests, concurrency: CONCURRENCY, durationMs: CALIBRATION_MS };
    await warm(connections);
    const answered = await closedLoop(connections, load);
    let ratePerS = (answered / (CALIBRATION_MS / 1000)) * UTILISATION;
    for (let trial = 1; ; trial += 1) {
      const beforeMs = await speed.unitMs();
      const [loopNs, atMs] = [service.loopNs(), performance.now()];
      await openLoop(connections, { requests, ratePerS, durationMs: CALIBRATION_MS });
      const loopShare = (service.loopNs() - loopNs) / ((performance.now() - atMs) * 1e6);
      ratePerS *= (UTILISATION * BASE_SPEED) / loopShare;
      const afterMs = await speed.unitMs();
      if (trial < CALIBRATION_TRIALS || !isAsFast(beforeMs, afterMs)) continue;
      await service.driven();
      return { ratePerS: Math.round(ratePerS), unitMs: (beforeMs + afterMs) / 2 };
    }
  } finally {
    await service.stop();
  }
}

function nameOf(service) {
  return Number(values.workers) > 0 ? `${service}-cluster` : service;
}

/** A round again while the host took too much of its time; what is thrown away is kept aside. */
async function quietRound(service, round, arms, rate, context) {
  const about = { service: nameOf(service), round };
  for (let trial = 0; trial < TRIALS_MAX; trial += 1) {
    const { cells, isWhole } = await driven(() => roundOf(service, round, arms, rate, context));
    if (isWhole) return cells;
    const lines = cells.map((cell) => `${JSON.stringify({ ...about, ...cell })}\n`);
    appendFileSync(join(values.out, 'stolen.jsonl'), lines.join(''));
    if (isOverdue()) return null;
  }
  throw new Error(`the host spoiled a round of ${service} ${TRIALS_MAX} times: try another time`);
}

/** At the rate that keeps the loops as busy as they are to be, on a core that is as fast. */
async function roundOf(service, round, arms, { ratePerS, unitMs }, context) {
  const seed = round * 1000 + 7;
  return takeRound({
    ...{ ...context, service, latency: values.latency, tuned: values.tuned },
    ...{ wanted: Number(values.requests), seed, ratePerS },
    arms: shuffled(arms, seededRandom(seed)),
    beginTurn: () => context.speed.until(unitMs, LOOKS_MAX),
  });
}

/**
 * Waits for a core as fast as that; false when there is no more time. A rate that follows the
 * core's speed instead made loops 36 to 48 % busy: a neighbour slows this work and the services
 * unlike.
 */
async function isFastIn({ speed }, unitMs) {
  while (Number.isFinite(unitMs)) {
    if (isAsFast(await speed.until(unitMs, LOOKS_WAITED), unitMs)) return true;
    if (isOverdue()) return false;
  }
  return true;
}

/** All rounds, or as much of them as there is time for. */
async function run(environment) {
  yieldToDatabases();
  const speed = new SpeedProbe(values.node);
  const context = { workers: Number(values.workers), node: values.node, environment, speed };
  const arms = armsOf(values.arms.split(','));
  describe();
  try {
    await rounds(arms, context);
  } finally {
    speed.stop();
  }
}

async function rounds(arms, context) {
  for (let round = 1; round <= Number(values.rounds); round += 1) {
    for (const service of services) {
      const path = join(values.out, 'rounds', `${nameOf(service)}-${round}.jsonl`);
      if (existsSync(path)) continue;
      if (isOverdue()) return;
      const rate = await driven(() => rateOf(service, context));
      if (rate === null || !(await isFastIn(context, rate.unitMs))) return;
      const cells = await quietRound(service, round, arms, rate, context);
      if (cells === null) return;
      const lines = cells.map((cell) => `${JSON.stringify({ round, ...cell })}\n`);
      writeFileSync(path, lines.join(''));
      for (const { arm, latencies, boosts } of cells) {
        const p99 = LatencyHistogram.fromText(latencies).percentileMs(99);
        const told = [service, `round ${round}`, arm, `p99 ${p99?.toFixed(1)} ms`];
        process.stderr.write(`${told.join(' · ')} · ${boosts} boosts\n`);
      }
    }
  }
}

function describe() {
  const version = execFileSync(values.node, ['-p', 'process.versions.node'], { encoding: 'utf8' });
  const host = `${cpus()[0].model}, ${cpus().length} CPUs, Linux ${release()}`;
  const { requests: count, tuned, latency } = values;
  const about = { node: version.trim(), host, requests: Number(count), tuned, latency };
  writeFileSync(join(values.out, 'about.json'), `${JSON.stringify(about, null, 2)}\n`);
}

collectsAlone();
mkdirSync(join(values.out, 'rounds'), { recursive: true });
const services = values.services.split(',');
await besideDatabases(services, run);
