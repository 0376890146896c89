// The paper's Tables 6 and 7 by ourselves, at an emulated frequency: services with real I/O, open
// load, a fresh seeded server for each arm of each round.
//
//   node --single-threaded-gc bench/boost/run.mjs [--rounds 10] [--requests 50000]
//     [--services cpu,redis,…] [--arms gc-boost,…] [--latencies 20us,500us,1ms] [--workers 0]
//     [--tuned=--flag] [--seconds-max S] [--node PATH] [--out DIR]
//
// Needs root (real-time threads) and two CPUs: the servers on one, load and databases on the other.
// Each cell is written when it is done, and a run goes on where the last one stopped: a round that
// was cut off (`--seconds-max`, Ctrl-C) is completed by the next run. `tables.mjs` makes tables.
// A cell begins when the core is as fast as it was when the rate was set, and is measured again if
// it is not any more when it ends.
// Requests that came while the host took time from this machine are left out (and counted), and
// others come in their place; a cell of which that is too many is measured again (the first is kept
// in `stolen.jsonl`).
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { seededRandom, shuffled } from '../../packages/bobtail/dist/prove/shuffle.js';
import { collectsAlone, stolenSince, yieldToDatabases } from '../harness/cpu.mjs';
import { LatencyHistogram } from '../harness/latency-histogram.mjs';
import { closedLoop, openLoop } from '../harness/open-loop.mjs';
import { StolenWatch } from '../harness/stolen.mjs';
import { ARMS, armsOf, BASE, BASE_SPEED, LATENCY_DEFAULT, SERVICES, TUNED } from './arms.mjs';
import { besideDatabases, overdueAfter } from './pieces.mjs';
import { ratesIn } from './rates.mjs';
import { BoostedService } from './service.mjs';
import { isAsFast, SpeedProbe } from './speed.mjs';
import { CONCURRENCY, KEPT_MIN, PROLONGED_MAX, requests, SETTLE_MS, warm } from './warm.mjs';

const text = (fallback) => ({ type: 'string', default: fallback });
const { values } = parseArgs({
  options: {
    rounds: text('10'),
    requests: text('50000'),
    services: text(Object.keys(SERVICES).join(',')),
    arms: text(Object.keys(ARMS).join(',')),
    latencies: text(LATENCY_DEFAULT),
    workers: text('0'),
    tuned: text(TUNED),
    'seconds-max': text('0'),
    node: text(join('node_modules', 'node24', 'bin', 'node')),
    out: text(join('bench', 'runs', `${new Date().toISOString().slice(0, 10)}-boost`)),
  },
});
const CALIBRATION_MS = 6000;
const CALIBRATION_TRIALS = 5;
/** Of what the service answers at base when it is never idle: the paper's are half busy. */
const UTILISATION = 0.475;
/** Of one CPU, before a cell begins. */
const STOLEN_MAX = 0.02;
/** Of a cell; one that the host spoiled is never kept. */
const TRIALS_MAX = 20;
const REFUSALS_MAX = 20;
/** How often it looks whether the host leaves this machine alone before it begins. */
const SETTLED_MAX = 3;

/** The service ran without its policy. */
class NotDriven extends Error {}

const isOverdue = overdueAfter(Number(values['seconds-max']));

/**
 * Requests per second that keep the server's loops busy for `UTILISATION` of the time, on a core
 * that does a unit in `unitMs`, the same for all services; kept.
 */
async function rateOf(service, context) {
  const known = existsSync(join(values.out, 'rates.json')) ? ratesIn(values.out) : {};
  const name = nameOf(service);
  if (known[name] !== undefined) return known[name];
  const [first] = Object.values(known);
  for (;;) {
    const unitMs = first?.unitMs ?? (await context.speed.unitMs());
    await context.speed.until(unitMs);
    const ratePerS = await calibrated(service, context);
    if (!isAsFast(await context.speed.unitMs(), unitMs)) continue;
    const rate = { ratePerS: Math.round(ratePerS), unitMs };
    const path = join(values.out, 'rates.json');
    writeFileSync(path, `${JSON.stringify({ ...known, [name]: rate }, null, 2)}\n`);
    return rate;
  }
}

/**
 * The rate on the core as fast as it is now. Open load costs more per request than a closed loop,
 * which finds the loop always awake, so that is only where it begins.
 */
async function calibrated(service, context) {
  const [arm] = armsOf([BASE], [LATENCY_DEFAULT]);
  const started = await BoostedService.start({ ...context, service, arm, seed: 1 });
  const load = { requests, concurrency: CONCURRENCY, durationMs: CALIBRATION_MS };
  await warm(started.connections);
  const answered = await closedLoop(started.connections, load);
  let ratePerS = (answered / (CALIBRATION_MS / 1000)) * UTILISATION;
  for (let trial = 0; trial < CALIBRATION_TRIALS; trial += 1) {
    const [loopNs, atMs] = [started.loopNs(), performance.now()];
    await openLoop(started.connections, { requests, ratePerS, durationMs: CALIBRATION_MS });
    const loopShare = (started.loopNs() - loopNs) / ((performance.now() - atMs) * 1e6);
    ratePerS *= (UTILISATION * BASE_SPEED) / loopShare;
  }
  const { refused } = await started.stop();
  if (refused !== null) throw new NotDriven(refused);
  return ratePerS;
}

function nameOf(service) {
  return Number(values.workers) > 0 ? `${service}-cluster` : service;
}

/** One arm in one round. */
async function cell(service, arm, round, rate, context) {
  const flags = arm.isTuned ? values.tuned.split(' ') : [];
  const seed = round * 1000 + 7;
  const { ratePerS } = rate;
  const unitMs = [await context.speed.until(rate.unitMs)];
  const started = await BoostedService.start({ ...context, service, arm, flags, seed });
  const { connections } = started;
  await warm(connections);
  for (let settled = 0; settled < SETTLED_MAX; settled += 1) {
    const stolenWhileSettling = stolenSince();
    const random = seededRandom(seed + 1 + settled);
    await openLoop(connections, { requests, ratePerS, durationMs: SETTLE_MS, random });
    if (stolenWhileSettling() <= STOLEN_MAX) break;
  }
  const before = await started.freshCounters();
  if (before === null) throw new NotDriven((await started.stop()).refused);
  const [loopNs, cpuNs, atMs] = [started.loopNs(), started.cpuNs(), performance.now()];
  const stolen = stolenSince();
  const watch = new StolenWatch();
  const wantedMs = (Number(values.requests) / ratePerS) * 1000;
  const { latenciesMs, dueMs, failed, unanswered } = await openLoop(connections, {
    requests,
    ratePerS,
    durationMs: PROLONGED_MAX * wantedMs,
    random: seededRandom(seed),
    isEnough: () => watch.undisturbedMs() >= wantedMs,
  });
  const isTaken = watch.stop();
  const wallNs = (performance.now() - atMs) * 1e6;
  const loopShare = (started.loopNs() - loopNs) / wallNs;
  const cpuShare = (started.cpuNs() - cpuNs) / wallNs;
  const stolenShare = stolen();
  const after = await started.counters();
  const boost = await started.stop();
  unitMs.push(await context.speed.unitMs());
  if (boost.refused !== null) throw new NotDriven(boost.refused);
  const histogram = new LatencyHistogram();
  latenciesMs.forEach((ms, index) => {
    if (!isTaken(dueMs[index])) histogram.add(ms);
  });
  const leftOut = latenciesMs.length - histogram.count;
  const measured = measuredShare(boost, before, after);
  return {
    ...{ round, arm: arm.name, policy: boost.policy, latency: arm.latency, flags, seed },
    ...{
      ratePerS,
      unitMs,
      requests: histogram.count,
      failed,
      unanswered,
      loopShare,
      cpuShare,
      stolenShare,
      leftOut,
    },
    ...measured,
    ...{ sensed: boost.requests, load: loadavg()[0], latencies: histogram.toText() },
  };
}

/**
 * What the policy did while it was measured, but for the last part of a second, and not while the
 * service was warmed up: the energy is that of the paper's points, of which the summary at the end
 * has the premium of a boost.
 */
function measuredShare({ processes, boostedShare, energy }, before, after) {
  const drivenS = after.drivenS - before.drivenS;
  const share = Math.min(1, (after.boostedS - before.boostedS) / (drivenS * processes));
  const premium = boostedShare > 0 ? (energy.relativeToBase - 1) / boostedShare : 0;
  return {
    boosts: after.boosts - before.boosts,
    boostedShare: share,
    ranNs: drivenS * 1e9,
    energy: { kind: energy.kind, relativeToBase: 1 + premium * share },
  };
}

/** Again while the speed is off, as it is where the host takes time while it is calibrated. */
async function driven(take) {
  for (let refusals = 0; ; refusals += 1) {
    try {
      return await take();
    } catch (error) {
      if (!(error instanceof NotDriven) || refusals === REFUSALS_MAX) throw error;
    }
  }
}

/** A cell again while the host took too much of its time; what is thrown away is kept aside. */
async function quietCell(service, arm, round, rate, context) {
  for (let trial = 0; trial < TRIALS_MAX; trial += 1) {
    const measured = await driven(() => cell(service, arm, round, rate, context));
    const isWhole = measured.requests >= KEPT_MIN * Number(values.requests);
    if (isWhole && isAsFast(measured.unitMs.at(-1), rate.unitMs)) return measured;
    appendFileSync(
      join(values.out, 'stolen.jsonl'),
      `${JSON.stringify({ service: nameOf(service), ...measured })}\n`,
    );
  }
  throw new Error(`the host spoiled a cell of ${service} ${TRIALS_MAX} times: run it another time`);
}

/** The arms of a round that are not there yet. */
function missing(path, arms) {
  if (!existsSync(path)) return arms;
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  const there = new Set(lines.map((line) => JSON.parse(line).arm));
  return arms.filter(({ name }) => !there.has(name));
}

/** All rounds, or as much of them as there is time for. */
async function run(environment) {
  yieldToDatabases();
  const speed = new SpeedProbe(values.node);
  const context = { workers: Number(values.workers), node: values.node, environment, speed };
  const arms = armsOf(values.arms.split(','), values.latencies.split(','));
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
      const order = shuffled(missing(path, arms), seededRandom(round * 31 + service.length));
      for (const arm of order) {
        if (isOverdue()) return;
        const rate = await driven(() => rateOf(service, context));
        const measured = await quietCell(service, arm, round, rate, context);
        appendFileSync(path, `${JSON.stringify(measured)}\n`);
        const p99 = LatencyHistogram.fromText(measured.latencies).percentileMs(99);
        const told = [service, `round ${round}`, arm.name, `p99 ${p99?.toFixed(1)} ms`];
        process.stderr.write(`${told.join(' · ')} · ${measured.boosts} boosts\n`);
      }
    }
  }
}

function describe() {
  const version = execFileSync(values.node, ['-p', 'process.versions.node'], { encoding: 'utf8' });
  const host = `${cpus()[0].model}, ${cpus().length} CPUs, Linux ${release()}`;
  const { requests: count, tuned } = values;
  const about = { node: version.trim(), host, requests: Number(count), tuned };
  writeFileSync(join(values.out, 'about.json'), `${JSON.stringify(about, null, 2)}\n`);
}

collectsAlone();
mkdirSync(join(values.out, 'rounds'), { recursive: true });
const services = values.services.split(',');
await besideDatabases(services, run);
