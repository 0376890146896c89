// What the replays of `predict.mjs` say of each arm, in the figures of the live tables.
//
// A recording counts as a round, and percentiles are those of all together, as they are live: a
// mean of each recording's own would be another figure. The base is the replay without a change of
// a recording without flags, whatever flags an arm has, since live it is the same base.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { analyzeRounds } from '../../packages/bobtail/dist/cli/analysis.js';
import { ARMS } from './arms.mjs';
import { toRound } from './compared.mjs';

/** Answers of `whatif` by service, kind (`plain`, `tuned`) and seed; refusals are none. */
function answersOf(folder) {
  const from = join(folder, 'predicted');
  if (!existsSync(from)) return [];
  return readdirSync(from)
    .map((name) => [name, /^([\w-]+)-(plain|tuned)-(\d+)\.json$/.exec(name)])
    .filter(([, match]) => match !== null)
    .map(([name, [, service, kind, seed]]) => {
      return { service, kind, seed, answer: JSON.parse(readFileSync(join(from, name), 'utf8')) };
    })
    .filter(({ answer }) => answer.refused === undefined);
}

/**
 * A function of service and arm: `{recordings, energy, percentiles}`, the last as `compared` has
 * them; null where nothing was replayed.
 */
export function predictions(folder) {
  const answers = answersOf(folder);
  const find = (service, kind, seed) => {
    const is = (one) => one.service === service && one.kind === kind && one.seed === seed;
    return answers.find(is)?.answer;
  };
  return async (service, arm) => {
    const { policy, isTuned } = ARMS[arm];
    const seeds = answers.filter((one) => one.service === service && one.kind === 'plain');
    const pairs = seeds
      .map(({ seed, answer: plain }) => {
        const scenarios = (isTuned ? find(service, 'tuned', seed) : plain)?.scenarios ?? [];
        const scenario = scenarios.find(({ name }) => name.endsWith(`policy=${policy}`));
        return { before: plain.unchanged.latencies, scenario };
      })
      .filter(({ before, scenario }) => before !== undefined && scenario?.latencies !== undefined);
    if (pairs.length === 0) return null;
    const { percentiles } = await analyzeRounds(
      pairs.map(({ before }) => toRound(before)),
      pairs.map(({ scenario }) => toRound(scenario.latencies)),
    );
    const energies = pairs.map(({ scenario }) => scenario.policy.energy);
    const energy = energies.reduce((sum, one) => sum + one, 0) / energies.length;
    return { recordings: pairs.length, energy, percentiles };
  };
}
