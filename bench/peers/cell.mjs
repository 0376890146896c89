// One cell of the comparison: one service on one Node version, all arms at the same time.
//
// All arms run and idle; load goes to one at a time in short slices at a fixed rate, in an order
// shuffled anew each round, so that a noisy neighbour hits every arm alike. Tracing tools send what
// they gathered seconds later, so an arm is charged for its CPU time until its own next slice,
// less what it uses when it idles.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LatencyHistogram } from '../harness/latency-histogram.mjs';
import { openLoop, requestBytes } from '../harness/open-loop.mjs';
import { quietly } from '../harness/quiet.mjs';
import { shuffled } from '../harness/statistics.mjs';
import { prepareArm } from './arms.mjs';
import { ArmUnavailable, Service, startSink } from './service.mjs';

/** To each service. */
export const CONNECTIONS = 48;
/** Longer than any tool here waits before it exports (OpenTelemetry: 5 s). */
const DRAIN_MS = 6000;
const IDLE_MS = 2000;
/** How long a lock is held at most, and a round: others on this host want to measure, too. */
const LOCKED_MS = 45_000;

/** Requests of a service in turn, and how many a second: far from what any tool here can stand. */
export const SERVICES = {
  http: { paths: ['/'], ratePerS: 4000 },
  express: { paths: Array.from({ length: 500 }, (_, id) => `/orders/${id}`), ratePerS: 2000 },
  promises: { paths: ['/'], ratePerS: 3000 },
  database: { paths: ['/'], ratePerS: 1000 },
};

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function startArms(names, context) {
  const running = [];
  const missing = {};
  for (const name of names) {
    try {
      const arm = prepareArm(name, context);
      running.push(await Service.start(name, { ...context, arm, connections: CONNECTIONS }));
    } catch (error) {
      if (!(error instanceof ArmUnavailable)) throw error;
      missing[name] = error.message;
    }
  }
  return { running, missing };
}

async function slice(service, { ratePerS, ...load }) {
  service.thaw();
  const cpuBefore = service.cpuNs();
  const atMs = performance.now();
  const { latenciesMs, failed, unanswered } = await openLoop(service.connections, {
    ...load,
    ratePerS: ratePerS * service.arm.loadShare,
  });
  const wallMs = performance.now() - atMs;
  const insideNs = service.cpuNs() - cpuBefore;
  service.freeze();
  const latencies = new LatencyHistogram();
  for (const ms of latenciesMs) latencies.add(ms);
  return { cpuBefore, atMs, wallMs, insideNs, failed, unanswered, latencies };
}

/** CPU ns per ms of each arm while nobody asks it anything. */
async function idleRates(running) {
  const before = running.map((service) => service.cpuNs());
  await sleep(IDLE_MS);
  return new Map(running.map((s, i) => [s, (s.cpuNs() - before[i]) / IDLE_MS]));
}

/** Adds to each slice of `service` what it caused until the service's next one, or its `end`. */
function charge(service, slices, idleNsPerMs) {
  return slices.map((own, i) => {
    const next = own.end ?? slices[i + 1];
    const idleMs = next.atMs - own.atMs - own.wallMs;
    const untilNextNs = next.cpuBefore - own.cpuBefore - idleNsPerMs * idleMs;
    const ns = service.arm.freezes ? own.insideNs : Math.max(own.insideNs, untilNextNs);
    return { ...own, cpuUs: ns / 1000 / own.latencies.count };
  });
}

async function measure(running, { requests, ratePerS, sink, options }) {
  const load = { requests, ratePerS, durationMs: options.sliceMs };
  const warm = { ...load, durationMs: options.warmMs };
  await quietly(options.lock, async () => {
    for (const service of running) await slice(service, warm);
  });
  await sleep(options.drainMs ?? DRAIN_MS);
  const idle = await idleRates(running);
  const slices = new Map(running.map((service) => [service, []]));
  const before = await sink.counts();
  for (let round = 0; round < options.rounds; ) {
    await quietly(options.lock, async () => {
      const untilMs = performance.now() + LOCKED_MS;
      for (; round < options.rounds && performance.now() < untilMs; round += 1) {
        for (const service of shuffled(running)) {
          slices.get(service).push(await slice(service, load));
        }
      }
    });
    await sleep(options.drainMs ?? DRAIN_MS);
    for (const [service, list] of slices) {
      list.at(-1).end = { cpuBefore: service.cpuNs(), atMs: performance.now() };
    }
    options.progress(`round ${round} of ${options.rounds}`);
  }
  const after = await sink.counts();
  const delivered = Object.fromEntries(Object.keys(after).map((k) => [k, after[k] - before[k]]));
  const rows = running.flatMap((service) =>
    charge(service, slices.get(service), idle.get(service)).map((row, round) => ({
      round,
      arm: service.name,
      ...row,
    })),
  );
  return { rows, delivered };
}

/**
 * Measures `names` for one service on one Node.
 * @returns `{rows, delivered, ratePerS, missing}`; `delivered` counts what exporters sent
 */
export async function measureCell(names, { node, major, service, environment, options }) {
  const scratch = mkdtempSync(join(tmpdir(), 'bobtail-peers-'));
  const sink = await startSink();
  let running = [];
  try {
    const context = { node, major, service, environment, scratch, sinkPort: sink.port };
    const started = await startArms(names, context);
    running = started.running;
    for (const each of running) each.freeze();
    const requests = SERVICES[service].paths.map(requestBytes);
    const ratePerS = options.ratePerS ?? SERVICES[service].ratePerS;
    const measured = await measure(running, { requests, ratePerS, sink, options });
    return { ...measured, ratePerS, missing: started.missing };
  } finally {
    for (const each of running) each.stop();
    sink.stop();
    rmSync(scratch, { recursive: true, force: true });
  }
}
