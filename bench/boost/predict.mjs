// What replays say that each policy brings: the services of `run.mjs`, recorded at the base speed
// and under the same load, and replayed under every policy that was run live. `tables.mjs` puts it
// beside what came.
//
//   node bench/boost/predict.mjs --out DIR [--recordings 2] [--requests 50000]
//     [--services cpu,redis,…] [--tuned=--flag] [--seconds-max S] [--scratch DIR]
//
// First all is recorded, which is what wants a quiet machine, then replayed. A run goes on where
// the last one stopped. The rates are those of `run.mjs`, which has to have run before. A tuned
// arm is replayed on a recording with its flags: a replay cannot know what V8 would collect.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bobtailMeanwhile } from '../harness/bobtail.mjs';
import { ARMS, BASE, SERVICES, TUNED } from './arms.mjs';
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
/** As long as the load of `run.mjs` before it counts. */
const WARM_S = 4;
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

/** Records what is not there yet; false when time is up. */
async function recordAll(environment) {
  const rates = JSON.parse(readFileSync(join(values.out, 'rates.json'), 'utf8'));
  for (const cell of cells) {
    if (existsSync(answerOf(cell)) || existsSync(recordingOf(cell))) continue;
    if (isOverdue()) return false;
    const { service, kind, seed } = cell;
    const ratePerS = rates[service];
    const flags = kind === 'tuned' ? values.tuned.split(' ') : [];
    const load = { ratePerS, warmS: WARM_S, seconds: Number(values.requests) / ratePerS, seed };
    const folder = recordingOf(cell);
    const holder = await hold(2.6);
    try {
      await record({ service, folder, node: values.node, flags, environment, ...load });
    } finally {
      await holder.stop();
    }
    process.stderr.write(`${nameOf(cell)} recorded\n`);
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
  // As `boost` looks by default.
  const args = ['whatif', recordingOf(cell), '--json', '--budget', '2', ...policies];
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
