// What the replays of `predict.mjs` say of each arm, in the figures of the live tables.
//
// The base is the replay without a change of a recording without flags, whatever flags an arm has:
// live it is the same base.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ARMS } from './arms.mjs';

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

function latencyNs({ percentiles }, percentile) {
  return percentiles.find((one) => one.percentile === percentile)?.latencyNs;
}

/**
 * A function of service, arm and percentile: `{ratio, energy, recordings}`, the ratio to the base
 * as the geometric mean of the recordings'; null where nothing was replayed.
 */
export function predictions(folder) {
  const answers = answersOf(folder);
  return (service, arm, percentile) => {
    const { policy, isTuned } = ARMS[arm];
    const pairs = answers
      .filter((one) => one.service === service && one.kind === (isTuned ? 'tuned' : 'plain'))
      .map(({ seed, answer }) => {
        const plain = answers.find(
          (one) => one.service === service && one.kind === 'plain' && one.seed === seed,
        );
        const scenario = answer.scenarios.find(({ name }) => name.endsWith(`policy=${policy}`));
        return { scenario, before: plain?.answer.unchanged };
      })
      .filter(({ scenario, before }) => scenario !== undefined && before !== undefined)
      .map(({ scenario, before }) => ({
        ratio: latencyNs(scenario, percentile) / latencyNs(before, percentile),
        energy: scenario.policy.energy,
      }))
      .filter(({ ratio }) => Number.isFinite(ratio));
    if (pairs.length === 0) return null;
    const mean = (figure) => pairs.reduce((sum, pair) => sum + figure(pair), 0) / pairs.length;
    const ratio = Math.exp(mean((pair) => Math.log(pair.ratio)));
    return { ratio, energy: mean((pair) => pair.energy), recordings: pairs.length };
  };
}
