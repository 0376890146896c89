// Is what replays predict what came live? The ratio to the base that replays tell, beside the
// interval of the live one, of each service and arm that has both.
import { mean, medianInterval } from '../harness/statistics.mjs';
import { ARMS, BASE_POLICY } from './arms.mjs';
import { ratioOfRounds, studentOfRounds } from './by-round.mjs';
import { TAILS } from './compared.mjs';
import { predictions } from './predicted.mjs';

/** Where live latencies were measured: the load has what it waited for on its own core, too. */
export const LIVE = {
  load: (result) => result,
  service: ({ atService }) => atService,
};

/**
 * Of services as `[name, results by arm]`, each result as `compared` tells it: `{service, arm,
 * result, live, predicted, tails}`, of each tail `{percentile, ratio, isWithin}`. `ratio` is
 * the predicted one, null where nothing was replayed or run; `isWithin` is undefined where live
 * rounds are too few for an interval. `at` is where `live` percentiles were measured: as the `load`
 * saw them, or at the `service`, of which older runs have none. Predictions are of `folders`.
 */
export async function conformance(services, folders, at = 'load') {
  const predict = predictions(...folders);
  const cells = services.flatMap(([service, results]) => {
    const driven = [...results].filter(([arm]) => ARMS[arm].policy !== BASE_POLICY);
    return driven.map(([arm, result]) => ({ service, arm, result }));
  });
  return Promise.all(
    cells.map(async (cell) => {
      const predicted = await predict(cell.service, cell.arm);
      const live = LIVE[at](cell.result).percentiles;
      const tails = TAILS.map((percentile) => outcome(predicted, live, percentile));
      return { ...cell, live, predicted, tails };
    }),
  );
}

function outcome(predicted, percentiles, percentile) {
  const of = (all) => all?.find((one) => one.percentile === percentile);
  const [told, live] = [of(predicted?.percentiles), of(percentiles)];
  const ratio = told?.ratio ?? null;
  if (ratio === null || live === undefined) return { percentile, ratio: null };
  const isWithin = live.low === null ? undefined : ratio >= live.low && ratio <= live.high;
  return { percentile, ratio, isWithin };
}

/**
 * The same by scheme, of what `conformance` told: `{arm, percentile, services, predicted, live,
 * low, high, isWithin}`, reductions of the tail (0.3 is 30 % less) in the mean of the services that
 * have both. Services are independent, so the interval of their mean follows from theirs, taken for
 * normal. An arm that lacks an interval in one of them has none.
 */
export function byScheme(found) {
  const arms = [...new Set(found.map(({ arm }) => arm))];
  return arms.flatMap((arm) => TAILS.map((percentile) => meanOf(found, arm, percentile)));
}

function meanOf(found, arm, percentile) {
  const both = found
    .filter((one) => one.arm === arm)
    .map(({ tails, live }) => {
      const is = (one) => one.percentile === percentile;
      return { told: tails.find(is), live: live.find(is) };
    })
    .filter(({ told, live }) => Number.isFinite(told?.ratio) && Number.isFinite(live?.ratio));
  const predicted = 1 - mean(both.map(({ told }) => told.ratio));
  const live = 1 - mean(both.map((one) => one.live.ratio));
  const about = { arm, percentile, services: both.length, predicted, live };
  if (both.length === 0 || both.some((one) => one.live.low === null)) return about;
  const halves = both.map((one) => (one.live.high - one.live.low) / 2);
  const half = Math.hypot(...halves) / both.length;
  const [low, high] = [live - half, live + half];
  return { ...about, low, high, isWithin: predicted >= low && predicted <= high };
}

/**
 * As `byScheme` tells it, in the (geometric) mean of the rounds of each service: a round has no
 * more to say for having had a longer tail, and a few make an interval, which is by Student's t.
 */
export function byRoundsOfScheme(found, at = 'load') {
  return pairedRounds(found, at).map(({ services, ...scheme }) => {
    const both = services.filter((pairs) => pairs.length > 0);
    const about = { ...scheme, services: both.length };
    if (both.length === 0) return about;
    const live = studentOfRounds(both.map((pairs) => pairs.map((pair) => pair.live)));
    const { ratio } = ratioOfRounds(both.map((pairs) => pairs.map(({ told }) => told)));
    const isWithin = Number.isNaN(live.low) ? undefined : ratio >= live.low && ratio <= live.high;
    const interval = isWithin === undefined ? {} : { low: 1 - live.high, high: 1 - live.low };
    return { ...about, predicted: 1 - ratio, live: 1 - live.ratio, ...interval, isWithin };
  });
}

/**
 * By scheme, of what `conformance` told, how far predictions are off round by round: `{arm,
 * percentile, rounds, median, low, high}`, the median over rounds, with its 95 % interval, of the
 * predicted ratio by the live one of the same round and service (1.1 is a tail 10 % too long).
 * Rounds differ by the minute that they had, which both share, and one that was spoiled decides no
 * median. `at` is where live percentiles were measured, as in `conformance`.
 */
export function offByRound(found, at = 'load') {
  return pairedRounds(found, at).map(({ services, ...scheme }) => {
    const offs = services.flat().map(({ told, live }) => told / live);
    return { ...scheme, rounds: offs.length, ...medianInterval(offs) };
  });
}

/** Of each arm and tail `{arm, percentile, services}`, of each service the pairs of its rounds. */
function pairedRounds(found, at) {
  const arms = [...new Set(found.map(({ arm }) => arm))];
  return arms.flatMap((arm) => {
    const own = found.filter((one) => one.arm === arm && one.predicted?.byRound !== undefined);
    return TAILS.map((percentile, tail) => {
      return { arm, percentile, services: own.map((one) => pairsOf(one, at, tail)) };
    });
  });
}

/** Ratios to the base of the rounds that have both: as predicted (`told`), and `live`. */
function pairsOf({ predicted, result }, at, tail) {
  const { byRound } = LIVE[at](result);
  return result.numbers.flatMap((round, index) => {
    const [told, live] = [predicted.byRound.get(round)?.[tail], byRound[index][tail]];
    return told == null || live === null ? [] : [{ told, live }];
  });
}
