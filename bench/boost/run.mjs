// The paper's Tables 6 and 7 by ourselves, at an emulated frequency: services with real I/O, open
// load, a fresh seeded server for each arm of each round.
//
//   node bench/boost/run.mjs [--rounds 10] [--requests 50000] [--services cpu,redis,…]
//     [--arms gc-boost,…] [--latencies 20us,500us,1ms] [--workers 0] [--tuned '--flag …']
//     [--seconds-max S] [--node PATH] [--out DIR]
//
// Needs root (real-time threads) and two CPUs: the servers on one, load and databases on the other.
// Each cell is written when it is done, and a run goes on where the last one stopped: a round that
// was cut off (`--seconds-max`, Ctrl-C) is completed by the next run. `tables.mjs` makes tables.
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { seededRandom, shuffled } from '../../packages/bobtail/dist/prove/shuffle.js';
import { startServices } from '../../workloads/harness/services.mjs';
import { LOAD_CORE, pin, yieldToDatabases } from '../harness/cpu.mjs';
import { LatencyHistogram } from '../harness/latency-histogram.mjs';
import { closedLoop, openLoop, requestBytes } from '../harness/open-loop.mjs';
import { ARMS, armsOf, BASE, LATENCY_DEFAULT, SERVICES } from './arms.mjs';
import { BoostedService } from './service.mjs';

const text = (fallback) => ({ type: 'string', default: fallback });
const { values } = parseArgs({
  options: {
    rounds: text('10'),
    requests: text('50000'),
    services: text(Object.keys(SERVICES).join(',')),
    arms: text(Object.keys(ARMS).join(',')),
    latencies: text(LATENCY_DEFAULT),
    workers: text('0'),
    tuned: text('--max-semi-space-size=64'),
    'seconds-max': text('0'),
    node: text(join('node_modules', 'node24', 'bin', 'node')),
    out: text(join('bench', 'runs', `${new Date().toISOString().slice(0, 10)}-boost`)),
  },
});
const WARM_MS = 1000;
const CALIBRATION_MS = 2000;
const CONCURRENCY = 24;
/** Of what the service answers at base when it is never idle: the paper's are half busy. */
const UTILISATION = 0.475;
const PATHS = 5000;

const startMs = performance.now();
const isOverdue = () => {
  const secondsMax = Number(values['seconds-max']);
  return secondsMax > 0 && performance.now() - startMs > secondsMax * 1000;
};
const requests = Array.from({ length: PATHS }, (_, n) => requestBytes(`/${(n * 37) % 1000}`));

/** Requests per second that keep the server's core busy for `UTILISATION` of the time; kept. */
async function rateOf(service, context) {
  const path = join(values.out, 'rates.json');
  const known = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
  const name = nameOf(service);
  if (known[name] !== undefined) return known[name];
  const [arm] = armsOf([BASE], [LATENCY_DEFAULT]);
  const started = await BoostedService.start({ ...context, service, arm, seed: 1 });
  const load = { requests, concurrency: CONCURRENCY, durationMs: CALIBRATION_MS };
  await closedLoop(started.connections, load);
  const answered = await closedLoop(started.connections, load);
  await started.stop();
  const ratePerS = Math.round((answered / (CALIBRATION_MS / 1000)) * UTILISATION);
  writeFileSync(path, `${JSON.stringify({ ...known, [name]: ratePerS }, null, 2)}\n`);
  return ratePerS;
}

function nameOf(service) {
  return Number(values.workers) > 0 ? `${service}-cluster` : service;
}

/** One arm in one round. */
async function cell(service, arm, round, ratePerS, context) {
  const flags = arm.isTuned ? values.tuned.split(' ') : [];
  const seed = round * 1000 + 7;
  const started = await BoostedService.start({ ...context, service, arm, flags, seed });
  const { connections } = started;
  await closedLoop(connections, { requests, concurrency: CONCURRENCY, durationMs: WARM_MS });
  const [loopNs, cpuNs, atMs] = [started.loopNs(), started.cpuNs(), performance.now()];
  const { latenciesMs, failed, unanswered } = await openLoop(connections, {
    requests,
    ratePerS,
    durationMs: (Number(values.requests) / ratePerS) * 1000,
    random: seededRandom(seed),
  });
  const wallNs = (performance.now() - atMs) * 1e6;
  const loopShare = (started.loopNs() - loopNs) / wallNs;
  const cpuShare = (started.cpuNs() - cpuNs) / wallNs;
  const boost = await started.stop();
  if (boost.refused !== null) throw new Error(`not driven: ${boost.refused}`);
  const histogram = new LatencyHistogram();
  for (const ms of latenciesMs) histogram.add(ms);
  const { counters, boostedShare, energy } = boost;
  return {
    ...{ round, arm: arm.name, policy: boost.policy, latency: arm.latency, flags, seed },
    ...{ ratePerS, requests: histogram.count, failed, unanswered, loopShare, cpuShare },
    ...{ boosts: counters.boosts, boostedShare, ranNs: boost.ranNs, energy },
    ...{ sensed: boost.requests, load: loadavg()[0], latencies: histogram.toText() },
  };
}

/** The arms of a round that are not there yet. */
function missing(path, arms) {
  if (!existsSync(path)) return arms;
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  const there = new Set(lines.map((line) => JSON.parse(line).arm));
  return arms.filter(({ name }) => !there.has(name));
}

async function run() {
  pin(process.pid, LOAD_CORE);
  mkdirSync(join(values.out, 'rounds'), { recursive: true });
  const services = values.services.split(',');
  const needs = [...new Set(services.flatMap((name) => SERVICES[name].needs))];
  const databases = await startServices(needs);
  for (const reason of Object.values(databases.missing)) throw new Error(reason);
  yieldToDatabases();
  const { environment } = databases;
  const context = { workers: Number(values.workers), node: values.node, environment };
  const arms = armsOf(values.arms.split(','), values.latencies.split(','));
  describe();
  try {
    for (let round = 1; round <= Number(values.rounds); round += 1) {
      for (const service of services) {
        const path = join(values.out, 'rounds', `${nameOf(service)}-${round}.jsonl`);
        const order = shuffled(missing(path, arms), seededRandom(round * 31 + service.length));
        for (const arm of order) {
          if (isOverdue()) return;
          const ratePerS = await rateOf(service, context);
          const measured = await cell(service, arm, round, ratePerS, context);
          appendFileSync(path, `${JSON.stringify(measured)}\n`);
          const p99 = LatencyHistogram.fromText(measured.latencies).percentileMs(99);
          const told = [service, `round ${round}`, arm.name, `p99 ${p99?.toFixed(1)} ms`];
          process.stderr.write(`${told.join(' · ')} · ${measured.boosts} boosts\n`);
        }
      }
    }
  } finally {
    await databases.stop();
  }
}

function describe() {
  const version = execFileSync(values.node, ['-p', 'process.versions.node'], { encoding: 'utf8' });
  const host = `${cpus()[0].model}, ${cpus().length} CPUs, Linux ${release()}`;
  const { requests: count, tuned } = values;
  const about = { node: version.trim(), host, requests: Number(count), tuned };
  writeFileSync(join(values.out, 'about.json'), `${JSON.stringify(about, null, 2)}\n`);
}

// Ended by a signal, it still ends what it started.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
await run();
