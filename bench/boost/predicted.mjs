// What the replays of `predict.mjs` say of each arm, in the figures of the live tables.
//
// A recording counts as a round, and percentiles are those of all together, as they are live: a
// mean of each recording's own would be another figure. The base is the replay without a change of
// the round's recording without flags, whatever flags an arm has, since live it is the same base.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { analyzeRounds } from '../../packages/bobtail/dist/cli/analysis.js';
import { mean } from '../harness/statistics.mjs';
import { ARMS, BASE_SEMI_SPACE } from './arms.mjs';
import { tailRatios, toRound } from './compared.mjs';

const IN_MEMORY = '/dev/shm';
/**
 * Where recordings of the rounds in `folder` are until they are replayed: in memory, if there is
 * such a folder, since on the disk they would be written while `disk` reads from it.
 */
export function scratchOf(folder) {
  const where = existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir();
  return join(where, `bobtail-bench-predict-${basename(folder)}`);
}

/** What replays say of a recording of this name. */
export function answerPath(folder, name) {
  return join(folder, 'predicted', `${name}.json`);
}

const NAME = /^([\w-]+)-(plain|tuned)-(\d+)$/;

/** Of a recording and of what replays say of it; `kind` is of V8's flags, `plain` or `tuned`. */
export function nameOf({ service, kind, round }) {
  return `${service}-${kind}-${round}`;
}

/** `{service, kind, round, name}` of everything in a folder that is called so, but for `ending`. */
export function namedIn(folder, ending = '') {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(ending))
    .map((name) => NAME.exec(name.slice(0, name.length - ending.length)))
    .filter((match) => match !== null)
    .map(([name, service, kind, round]) => ({ service, kind, round: Number(round), name }));
}

/**
 * A function that tells whether the tuned arms of a service have the base's flags, since none were
 * better. Then its two recordings of a round are of the same.
 */
export function alikeIn(folder) {
  const { tuned } = JSON.parse(readFileSync(join(folder, 'about.json'), 'utf8'));
  // One for all in older runs.
  const of = (service) => (typeof tuned === 'string' ? tuned : tuned[service]);
  return (service) => of(service.replace(/-cluster$/, '')) === BASE_SEMI_SPACE;
}

/** Answers of `whatif` by service, kind and round; refusals are none. */
function answersOf(folder) {
  const from = join(folder, 'predicted');
  return namedIn(from, '.json')
    .map((one) => {
      const answer = JSON.parse(readFileSync(answerPath(folder, one.name), 'utf8'));
      return { ...one, answer };
    })
    .filter(({ answer }) => answer.refused === undefined);
}

/** A replay has the time between turns, too, in which only a static speed is above the base. */
export function energyOfTurns({ policy: { policy, energy } }, { turnsShare = 1 }) {
  return policy.startsWith('static') ? energy : 1 + (energy - 1) / turnsShare;
}

/** Of each round its pairs together, `{round, before, after}`: two of one are no two rounds. */
function roundsOf(pairs) {
  return [...new Set(pairs.map(({ round }) => round))].map((round) => {
    const own = pairs.filter((one) => one.round === round);
    const before = own.map((one) => one.before).join(' ');
    return { round, before, after: own.map(({ scenario }) => scenario.latencies).join(' ') };
  });
}

/**
 * A function of service and arm: `{recordings, energy, percentiles, byRound}`, percentiles as
 * `compared` has them; null where nothing was replayed. Of several folders it is of what all have,
 * which are rounds of one run made in parts (`cellsTogether`).
 */
export function predictions(...folders) {
  const answers = folders.flatMap(answersOf);
  const isAlike = alikeIn(folders[0]);
  /** The base of a recording: itself, or the other of its round, where that has other flags. */
  const baseOf = ({ service, kind, round, answer }) => {
    if (kind === 'plain' || isAlike(service)) return answer;
    const is = (one) => one.service === service && one.kind === 'plain' && one.round === round;
    return answers.find(is)?.answer;
  };
  return async (service, arm) => {
    const { policy, isTuned = false } = ARMS[arm];
    const own = answers.filter((one) => {
      return one.service === service && ((one.kind === 'tuned') === isTuned || isAlike(service));
    });
    const pairs = own
      .map((one) => {
        const is = ({ name }) => name.endsWith(`policy=${policy}`);
        const before = baseOf(one)?.unchanged.latencies;
        const scenario = one.answer.scenarios.find(is);
        return { round: one.round, before, answer: one.answer, scenario };
      })
      .filter(({ before, scenario }) => before !== undefined && scenario?.latencies !== undefined);
    if (pairs.length === 0) return null;
    const rounds = roundsOf(pairs);
    const { percentiles } = await analyzeRounds(
      rounds.map(({ before }) => toRound(before)),
      rounds.map(({ after }) => toRound(after)),
    );
    // Those of older runs were not recorded in a round.
    const ofRounds = pairs.some(({ answer }) => answer.turnsShare === undefined) ? [] : rounds;
    const byRound = ofRounds.map(({ round, before, after }) => [round, tailRatios(before, after)]);
    const energy = mean(pairs.map(({ scenario, answer }) => energyOfTurns(scenario, answer)));
    return { recordings: pairs.length, energy, percentiles, byRound: new Map(byRound) };
  };
}
