// What replays say that each policy brings: recordings that `run.mjs` took in its rounds (the arms
// `recorded` and `recorded-tuned`), replayed under every policy that was run live. `tables.mjs`
// puts it beside what came.
//
//   node bench/boost/predict.mjs --out DIR [--scratch DIR] [--seconds-max S] [--keep] [--look 30us]
//
// A run goes on where the last one stopped; a recording is removed when its answer is there, unless
// it is to be kept. A tuned arm is replayed on a recording with its flags: a replay cannot know
// what V8 would collect. Workers of a cluster are replayed with one lever for all, as they had it.
// `--look` is what a look costs where the rounds have not kept it, as those on one service up to
// boost-19, that one too.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bobtail, withoutRoot } from '../harness/bobtail.mjs';
import { LatencyHistogram } from '../harness/latency-histogram.mjs';
import { ARMS, BASE_POLICY } from './arms.mjs';
import { cellsIn, liveMean } from './cells.mjs';
import { overdueAfter } from './pieces.mjs';
import { alikeIn, answerPath, namedIn, scratchOf } from './predicted.mjs';
import { turnsShare } from './recorded-service.mjs';

const text = (fallback) => ({ type: 'string', default: fallback });
const { values } = parseArgs({
  options: {
    'seconds-max': text('0'),
    keep: { type: 'boolean', default: false },
    out: text(join('bench', 'runs', `${new Date().toISOString().slice(0, 10)}-boost`)),
    scratch: { type: 'string' },
    look: { type: 'string' },
  },
});
/** Exit code: the recording lacks what a replay needs, or the replay is off without a change. */
const NOT_REPLAYABLE = 81;

const isOverdue = overdueAfter(Number(values['seconds-max']));
const isAlike = alikeIn(values.out);
const live = cellsIn(values.out);
const scratch = values.scratch ?? scratchOf(values.out);

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

/** Of the answer: distributions as rounds have theirs, so that the raw data stays small. */
function inBuckets(key, value) {
  if (key !== 'latencies') return value;
  const histogram = new LatencyHistogram();
  for (const [ns, requests] of value) histogram.add(ns / 1e6, requests);
  return histogram.toText();
}

/** What a look cost live, as `whatif --look` takes it; what was told where no round has it. */
function lookOf(service) {
  const arm = live.get(service).has('combined') ? 'combined' : 'combined-untuned';
  const mean = (figure) => liveMean(live, { service, arm, figure });
  const ns = Math.round(mean('lookingNs') / mean('looks'));
  if (ns > 0) return ['--look', `${ns}ns`];
  return values.look === undefined ? [] : ['--look', values.look];
}

/** Policies that were run live with the flags of this kind; all where both kinds have the same. */
function policiesOf({ service, kind }) {
  const arms = [...live.get(service).keys()].map((name) => ARMS[name]);
  const policies = arms
    .filter(({ policy }) => policy !== BASE_POLICY)
    .filter(({ isTuned = false }) => isTuned === (kind === 'tuned') || isAlike(service))
    .map(({ policy }) => policy);
  return [...new Set(policies)];
}

/** Replays a recording under the policies of the arms that have its flags. */
async function replay({ service, kind, name }) {
  const folder = join(scratch, name);
  const policies = policiesOf({ service, kind }).flatMap((policy) => ['--policy', policy]);
  // The replay without a change is the base of the other kind's.
  const driven = policies.length > 0 ? [...leverOf(service), ...policies] : [];
  const args = ['whatif', folder, '--json', '--latencies', ...driven];
  const answer = { ...withoutRoot(await answerTo(args)), turnsShare: turnsShare(folder) };
  writeFileSync(answerPath(values.out, name), `${JSON.stringify(answer, inBuckets)}\n`);
  if (!values.keep) rmSync(folder, { recursive: true });
  process.stderr.write(`${name} ${answer.refused ?? 'replayed'}\n`);
}

/** The lever that they had live. */
function leverOf(service) {
  const { latency } = JSON.parse(readFileSync(join(values.out, 'about.json'), 'utf8'));
  const domain = service.endsWith('-cluster') ? ['--domain', 'shared'] : [];
  return ['--latency', latency, ...domain, ...lookOf(service)];
}

/** Of a round that is kept, and not replayed yet. */
function isOpen({ service, round, name }) {
  const cells = live.get(service)?.values().next().value ?? [];
  return cells.some((one) => one.round === round) && !existsSync(answerPath(values.out, name));
}

mkdirSync(join(values.out, 'predicted'), { recursive: true });
for (const recording of namedIn(scratch).filter(isOpen)) {
  if (isOverdue()) break;
  await replay(recording);
}
