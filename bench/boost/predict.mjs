// What replays say that each policy brings: the services of `run.mjs`, recorded at the base speed
// and under the same load, and replayed under every policy that was run live. `tables.mjs` puts it
// beside what came.
//
//   node bench/boost/predict.mjs --out DIR [--recordings 2] [--requests 50000]
//     [--services cpu,redis,…] [--tuned=--flag] [--seconds-max S] [--scratch DIR]
//
// First all is recorded, which is what wants a quiet machine, then replayed. A run goes on where
// the last one stopped. `run.mjs` has to have run before: a service is recorded at the rate at
// which its loop is as busy as it was live, since recording costs more than sensing and the core is
// not always as fast. A tuned arm is replayed on a recording with its flags: a replay cannot know
// what V8 would collect.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bobtailMeanwhile } from '../harness/bobtail.mjs';
import { ARMS, BASE, BASE_SPEED, SERVICES, TUNED } from './arms.mjs';
import { cellsIn } from './cells.mjs';
import { hold, record } from './held.mjs';
import { besideDatabases, overdueAfter } from './pieces.mjs';

const text = (fallback) => ({ type: 'string', default: fallback });
const { values } = parseArgs({
  options: {
    recordings: text('2'),
    requests: text('50000'),
    services: text(Object.keys(SERVICES).join(',')),
    tuned: text(TUNED),
    'seconds-max': text('0'),
    node: text(join('node_modules', 'node24', 'bin', 'node')),
    out: text(join('bench', 'runs', `${new Date().toISOString().slice(0, 10)}-boost`)),
    scratch: text(join(tmpdir(), 'bobtail-bench-predict')),
  },
});
const root = fileURLToPath(new URL('../..', import.meta.url));
/** Of the requests that are wanted: what came while the host took time counts in no replay. */
const KEPT_MIN = 0.95;
/** By how much a recorded loop may be more or less busy than live: what is not is made again. */
const BUSY_OFF_MAX = 0.05;
/** Exit code: the recording lacks what a replay needs, or the replay is off without a change. */
const NOT_REPLAYABLE = 81;
const KINDS = ['plain', 'tuned'];

const isOverdue = overdueAfter(Number(values['seconds-max']));

const services = values.services.split(',');
const cells = Array.from({ length: Number(values.recordings) }, (_, index) => index + 1).flatMap(
  (seed) => {
    return services.flatMap((service) => KINDS.map((kind) => ({ service, kind, seed })));
  },
);
const nameOf = ({ service, kind, seed }) => `${service}-${kind}-${seed}`;
const recordingOf = (cell) => join(values.scratch, nameOf(cell));
const answerOf = (cell) => join(values.out, 'predicted', `${nameOf(cell)}.json`);

/** Records a service at the base speed; gives whether that was held. */
async function recordAtBase({ service, kind, folder, seed, ratePerS, seconds }, environment) {
  const flags = kind === 'tuned' ? values.tuned.split(' ') : [];
  const load = { ratePerS, seconds, seed };
  const holder = await hold(2.6);
  let isHeld = false;
  try {
    await record({ service, folder, node: values.node, flags, environment, ...load });
  } finally {
    isHeld = await holder.stop();
  }
  return isHeld;
}

/** The answer, or why a recording cannot be replayed. */
async function answerTo(args) {
  try {
    return JSON.parse(await bobtailMeanwhile(args));
  } catch (error) {
    if (error.code !== NOT_REPLAYABLE) throw error;
    const [why] = error.stderr
      .trim()
      .replace(/^bobtail: /, '')
      .split(' (');
    return { refused: why };
  }
}

/** What the replay of a recording without a change tells, or why there is none. */
function unchangedReplay(folder) {
  return answerTo(['whatif', folder, '--json']);
}

/** How busy the loop was live, as a share of the time in which the base speed lets it run. */
function liveUse({ service, kind }) {
  const arm = { plain: BASE, tuned: 'gc-boost-tuned' }[kind];
  const cells = cellsIn(values.out).get(service)?.get(arm);
  if (cells === undefined) throw new Error(`no live ${arm} of ${service}: run run.mjs first`);
  return cells.reduce((sum, { loopShare }) => sum + loopShare, 0) / cells.length / BASE_SPEED;
}

/** Records one that is whole and as busy as live; false when time is up. */
async function recordAsBusy(cell, environment) {
  const folder = recordingOf(cell);
  const target = liveUse(cell);
  let { ratePerS } = JSON.parse(readFileSync(join(values.out, 'rates.json'), 'utf8'))[cell.service];
  for (;;) {
    if (isOverdue()) return false;
    const seconds = Number(values.requests) / ratePerS;
    const isHeld = await recordAtBase({ ...cell, folder, ratePerS, seconds }, environment);
    const { refused, unchanged, requests } = await unchangedReplay(folder);
    const use = unchanged?.loopUse ?? Number.NaN;
    const isWhole = isHeld && requests >= KEPT_MIN * Number(values.requests);
    const told =
      refused ?? `${requests} requests, ${Math.round(ratePerS)}/s, busy ${use.toFixed(3)}`;
    process.stderr.write(`${nameOf(cell)}: ${told} of ${target.toFixed(3)}\n`);
    if (isWhole && Math.abs(Math.log(use / target)) <= BUSY_OFF_MAX) return true;
    rmSync(folder, { recursive: true });
    if (use > 0) ratePerS *= target / use;
  }
}

/** Records what is not there yet; false when time is up. */
async function recordAll(environment) {
  for (const cell of cells) {
    if (existsSync(answerOf(cell)) || existsSync(recordingOf(cell))) continue;
    if (!(await recordAsBusy(cell, environment))) return false;
  }
  return true;
}

/** Replays a recording under the policies of the arms that have its flags. */
async function replay(cell) {
  const isTuned = cell.kind === 'tuned';
  const arms = Object.entries(ARMS).filter(
    ([name, arm]) => name !== BASE && name !== 'a-a' && Boolean(arm.isTuned) === isTuned,
  );
  const policies = arms.flatMap(([, { policy }]) => ['--policy', policy]);
  const args = ['whatif', recordingOf(cell), '--json', ...policies];
  const answer = await answerTo(args);
  // Where this project lies is nobody's business.
  if (answer.run) answer.run.command = answer.run.command.map((word) => word.replace(root, ''));
  writeFileSync(answerOf(cell), `${JSON.stringify(answer)}\n`);
  process.stderr.write(`${nameOf(cell)} replayed\n`);
}

for (const folder of [values.scratch, join(values.out, 'predicted')]) {
  mkdirSync(folder, { recursive: true });
}
if (await besideDatabases(services, recordAll)) {
  for (const cell of cells) if (!existsSync(answerOf(cell))) await replay(cell);
}
