// What replays say that each policy brings: the services of `run.mjs`, recorded at the base speed
// and under the same load, and replayed under every policy that was run live. `tables.mjs` puts it
// beside what came.
//
//   node bench/boost/predict.mjs --out DIR [--recordings 2] [--requests 50000]
//     [--services cpu,redis,…] [--workers 0] [--tuned=--flag] [--seconds-max S] [--scratch DIR]
//
// First all is recorded, which is what wants a quiet machine, then replayed. A run goes on where
// the last one stopped. `run.mjs` has to have run before: a service is recorded at the rate at
// which its loop is as busy as it was live, since recording costs more than sensing and the core is
// not always as fast. A tuned arm is replayed on a recording with its flags: a replay cannot know
// what V8 would collect. Workers of a cluster are replayed with one lever for all, as they had it.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bobtail, withoutRoot } from '../harness/bobtail.mjs';
import { LOAD_CORE, SERVER_CORE } from '../harness/cpu.mjs';
import { LatencyHistogram } from '../harness/latency-histogram.mjs';
import { StallWatch } from '../harness/stalls.mjs';
import { ARMS, BASE, BASE_POLICY, BASE_SPEED, flagsOf, SERVICES } from './arms.mjs';
import { liveMean } from './cells.mjs';
import { atFrequency, record } from './held.mjs';
import { besideDatabases, overdueAfter } from './pieces.mjs';
import { driven } from './shared-lever.mjs';
import { tunedFlags } from './tuned.mjs';

const text = (fallback) => ({ type: 'string', default: fallback });
const { values } = parseArgs({
  options: {
    recordings: text('2'),
    requests: text('50000'),
    services: text(Object.keys(SERVICES).join(',')),
    workers: text('0'),
    tuned: { type: 'string' },
    'seconds-max': text('0'),
    node: text(join('node_modules', 'node24', 'bin', 'node')),
    out: text(join('bench', 'runs', `${new Date().toISOString().slice(0, 10)}-boost`)),
    scratch: text(join(tmpdir(), 'bobtail-bench-predict')),
  },
});
/** By how much a recorded loop may be more or less busy than live: what is not is made again. */
const BUSY_OFF_MAX = 0.05;
const TRIALS_MAX = 20;
/** Of the requests that are wanted: each stall of a CPU takes those of a tenth of a second. */
const KEPT_MIN = 0.8;
/** Exit code: the recording lacks what a replay needs, or the replay is off without a change. */
const NOT_REPLAYABLE = 81;
const KINDS = ['plain', 'tuned'];

const tuned = tunedFlags(values.out, values.tuned);
const isOverdue = overdueAfter(Number(values['seconds-max']));

const services = values.services.split(',');
const cells = Array.from({ length: Number(values.recordings) }, (_, index) => index + 1).flatMap(
  (seed) => {
    return services.flatMap((service) => KINDS.map((kind) => ({ service, kind, seed })));
  },
);
const workers = Number(values.workers);
/** As its rounds are called. */
const liveName = (service) => (workers > 0 ? `${service}-cluster` : service);
const nameOf = ({ service, kind, seed }) => `${liveName(service)}-${kind}-${seed}`;
const recordingOf = (cell) => join(values.scratch, nameOf(cell));
const answerOf = (cell) => join(values.out, 'predicted', `${nameOf(cell)}.json`);

/** Records a service at the base speed. */
function recordAtBase({ service, kind, folder, seed, ratePerS, seconds }, environment) {
  const flags = flagsOf({ isTuned: kind === 'tuned' }, tuned(service));
  const load = { ratePerS, seconds, seed };
  const how = { service, folder, workers, node: values.node, flags, environment };
  return driven(() => atFrequency(2.6, () => record({ ...how, ...load })));
}

/** The answer, or why a recording cannot be replayed. */
async function answerTo(args) {
  try {
    return JSON.parse(await bobtail(args));
  } catch (error) {
    if (error.code !== NOT_REPLAYABLE) throw error;
    const [why] = error.stderr
      .trim()
      .replace(/^bobtail: /, '')
      .split(' (');
    return { refused: why };
  }
}

/** How busy the loop was live, as a share of the time in which the base speed lets it run. */
function liveUse({ service, kind }) {
  const arm = { plain: BASE, tuned: 'gc-boost-tuned' }[kind];
  const share = liveMean(values.out, { service: liveName(service), arm, figure: 'loopShare' });
  // Of all loops, and a replay tells it of one.
  return share / BASE_SPEED / Math.max(1, workers);
}

/** What speaks against a recording; null where it is to be kept, or its refusal is. */
function flaw(answer, target) {
  if (answer.refused !== undefined) return null;
  if (answer.leftOutRequests === null) return 'the host took too much';
  if (answer.requests < KEPT_MIN * Number(values.requests)) return 'too few requests';
  const off = Math.log(answer.unchanged.loopUse / target);
  return Math.abs(off) <= BUSY_OFF_MAX ? null : 'not as busy as live';
}

/**
 * Says in a recording when its CPUs did not run, as live rounds are told, instead of what the
 * kernel tells in ticks of 10 ms: what came then is in no percentile.
 */
async function tellStalls(folder, watch) {
  const path = join(folder, 'run.json');
  const run = JSON.parse(readFileSync(path, 'utf8'));
  const stalls = (await watch.taken()).toSorted((a, b) => a.fromMs - b.fromMs);
  run.host.stolen = stalls.map(({ fromMs, lateMs }) => {
    const [fromNs, takenNs] = [watch.monotonicNs(fromMs), Math.round(lateMs * 1e6)];
    return { fromNs, untilNs: fromNs + takenNs, takenNs };
  });
  writeFileSync(path, JSON.stringify(run));
}

/** The rates of the last recordings that were kept, by service and kind. */
const keptRates = new Map();

/** Records one that is whole and as busy as live; false when time is up. */
async function recordAsBusy(cell, environment, watch) {
  const folder = recordingOf(cell);
  const target = liveUse(cell);
  const live = { service: liveName(cell.service), figure: 'ratePerS' };
  const alike = `${cell.service}-${cell.kind}`;
  // The core is as fast as it was a minute ago rather than as it was live.
  let ratePerS = keptRates.get(alike) ?? liveMean(values.out, live);
  for (let trial = 0; trial < TRIALS_MAX; trial += 1) {
    if (isOverdue()) return false;
    const seconds = Number(values.requests) / ratePerS;
    const part = `${folder}.unjudged`;
    // Of a run that was killed before it was judged, or of one that is not kept.
    rmSync(part, { recursive: true, force: true });
    const recording = { ...cell, folder: part, ratePerS, seconds };
    await watch.taken();
    await recordAtBase(recording, environment);
    await tellStalls(part, watch);
    const answer = await answerTo(['whatif', part, '--json']);
    const why = flaw(answer, target);
    const use = answer.unchanged?.loopUse;
    const told = answer.refused ?? `busy ${use.toFixed(3)} of ${target.toFixed(3)}`;
    const kept = why === null ? 'kept' : `not kept: ${why}`;
    process.stderr.write(`${nameOf(cell)} at ${Math.round(ratePerS)}/s: ${told}, ${kept}\n`);
    if (why === null) {
      renameSync(part, folder);
      keptRates.set(alike, ratePerS);
      return true;
    }
    if (why === 'not as busy as live') ratePerS *= target / use;
  }
  throw new Error(`no recording of ${nameOf(cell)} in ${TRIALS_MAX} was as live`);
}

/** Records what is not there yet; false when time is up. */
async function recordAll(environment) {
  const watch = await StallWatch.start([SERVER_CORE, LOAD_CORE]);
  try {
    for (const cell of cells) {
      if (existsSync(answerOf(cell)) || existsSync(recordingOf(cell))) continue;
      if (!(await recordAsBusy(cell, environment, watch))) return false;
    }
    return true;
  } finally {
    await watch.stop();
  }
}

/** Of the answer: distributions as rounds have theirs, so that the raw data stays small. */
function inBuckets(key, value) {
  if (key !== 'latencies') return value;
  const histogram = new LatencyHistogram();
  for (const [ns, requests] of value) histogram.add(ns / 1e6, requests);
  return histogram.toText();
}

/** What a look cost live, as `whatif --look` takes it; nothing where that was not told. */
function lookOf(service) {
  const live = { service: liveName(service), arm: 'combined' };
  const mean = (figure) => liveMean(values.out, { ...live, figure });
  const ns = Math.round(mean('lookingNs') / mean('looks'));
  return ns > 0 ? ['--look', `${ns}ns`] : [];
}

/** Replays a recording under the policies of the arms that have its flags. */
async function replay(cell) {
  const isTuned = cell.kind === 'tuned';
  const arms = Object.entries(ARMS).filter(
    ([, arm]) => arm.policy !== BASE_POLICY && Boolean(arm.isTuned) === isTuned,
  );
  const policies = arms.flatMap(([, { policy }]) => ['--policy', policy]);
  const { latency } = JSON.parse(readFileSync(join(values.out, 'about.json'), 'utf8'));
  const domain = workers > 0 ? ['--domain', 'shared'] : [];
  const lever = ['--latency', latency, ...domain, ...lookOf(cell.service)];
  const args = ['whatif', recordingOf(cell), '--json', '--latencies', ...lever, ...policies];
  const answer = withoutRoot(await answerTo(args));
  writeFileSync(answerOf(cell), `${JSON.stringify(answer, inBuckets)}\n`);
  process.stderr.write(`${nameOf(cell)} replayed\n`);
}

for (const folder of [values.scratch, join(values.out, 'predicted')]) {
  mkdirSync(folder, { recursive: true });
}
if (await besideDatabases(services, recordAll)) {
  for (const cell of cells) if (!existsSync(answerOf(cell))) await replay(cell);
}
