// What replays say that each policy brings: the services of `run.mjs`, recorded at the base speed
// and under the same load, and replayed under every policy that was run live. `tables.mjs` puts it
// beside what came.
//
//   node bench/boost/predict.mjs --out DIR [--recordings 2] [--requests 50000]
//     [--services cpu,redis,…] [--tuned=--flag] [--seconds-max S] [--scratch DIR]
//
// First all is recorded, which is what wants a quiet machine, then replayed. A run goes on where
// the last one stopped. `run.mjs` has to have run before: a service is recorded at the rate at
// which its loop is as busy as it was live, since recording costs more than sensing. A tuned arm is
// replayed on a recording with its flags: a replay cannot know what V8 would collect.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bobtailMeanwhile } from '../harness/bobtail.mjs';
import { stolenSince } from '../harness/cpu.mjs';
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
/** Of one CPU, while it is recorded: what the host stalls, every replay stalls. */
const STOLEN_MAX = 0.001;
const PILOT_STOLEN_MAX = 0.01;
/** Tries of rates, and how long each is recorded. */
const PILOTS = 3;
const PILOT_S = 8;
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

/**
 * Records a service at the base speed; gives the share of the time that the host took, all of it
 * where that speed was not held.
 */
async function recordAtBase({ service, kind, folder, seed, ratePerS, seconds }, environment) {
  const flags = kind === 'tuned' ? values.tuned.split(' ') : [];
  const load = { ratePerS, seconds, seed };
  const holder = await hold(2.6);
  const stolenShare = stolenSince();
  let isHeld = false;
  try {
    await record({ service, folder, node: values.node, flags, environment, ...load });
  } finally {
    isHeld = await holder.stop();
  }
  return isHeld ? stolenShare() : 1;
}

/** How busy the loop was live, as a share of the time in which the base speed lets it run. */
function liveUse(service) {
  const cells = cellsIn(values.out).get(service)?.get(BASE);
  if (cells === undefined) throw new Error(`no live ${BASE} of ${service}: run run.mjs first`);
  return cells.reduce((sum, { loopShare }) => sum + loopShare, 0) / cells.length / BASE_SPEED;
}

/** Requests per second at which the recorded loop is as busy; kept. */
async function rateOf(service, environment) {
  const path = join(values.out, 'predicted', 'rates.json');
  const known = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
  if (known[service] !== undefined) return known[service];
  const target = liveUse(service);
  let ratePerS = JSON.parse(readFileSync(join(values.out, 'rates.json'), 'utf8'))[service];
  const folder = join(values.scratch, `${service}-pilot`);
  for (let pilot = 0; pilot < PILOTS; ) {
    const how = { service, kind: 'plain', folder, seed: pilot, ratePerS, seconds: PILOT_S };
    const stolen = await recordAtBase(how, environment);
    const { unchanged } = JSON.parse(await bobtailMeanwhile(['whatif', folder, '--json']));
    rmSync(folder, { recursive: true });
    process.stderr.write(`${service} at ${ratePerS}/s: busy ${unchanged.loopUse.toFixed(2)}\n`);
    if (stolen > PILOT_STOLEN_MAX) continue;
    ratePerS = Math.round((ratePerS * target) / unchanged.loopUse);
    pilot += 1;
  }
  writeFileSync(path, `${JSON.stringify({ ...known, [service]: ratePerS }, null, 2)}\n`);
  return ratePerS;
}

/** Records what is not there yet; false when time is up. */
async function recordAll(environment) {
  for (const cell of cells) {
    const folder = recordingOf(cell);
    while (!existsSync(answerOf(cell)) && !existsSync(folder)) {
      if (isOverdue()) return false;
      const ratePerS = await rateOf(cell.service, environment);
      const seconds = Number(values.requests) / ratePerS;
      const stolen = await recordAtBase({ ...cell, folder, ratePerS, seconds }, environment);
      if (stolen > STOLEN_MAX) rmSync(folder, { recursive: true });
      const told = stolen > STOLEN_MAX ? 'spoiled' : 'recorded';
      process.stderr.write(`${nameOf(cell)} ${told}, ${(stolen * 100).toFixed(2)} % stolen\n`);
    }
  }
  return true;
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
