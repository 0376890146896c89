// Two arms that had one service in turns, round by round: a round is a process of its own, and its
// turns are no more independent of each other than that process lets them be.
//
// Of each round the logarithm of a ratio to the mean of the logarithms of those compared with, and
// of all rounds the mean: no round has more to say for having had a longer tail.
import { seededRandom } from '../../packages/bobtail/dist/prove/shuffle.js';
import { LatencyHistogram } from '../harness/latency-histogram.mjs';
import { mean, quantile } from '../harness/statistics.mjs';

/** What is compared of a round. */
export const FIGURES = {
  'service: p99': (cell) => percentile(cell.latenciesAtService, 99),
  'service: p99.9': (cell) => percentile(cell.latenciesAtService, 99.9),
  'load: p99': (cell) => percentile(cell.latencies, 99),
  'load: p99.9': (cell) => percentile(cell.latencies, 99.9),
  'time boosted': (cell) => cell.boostedShare,
};
const RESAMPLES = 20_000;
const SEED = 1;

function percentile(text, p) {
  return LatencyHistogram.fromText(text).percentileMs(p);
}

/** Of one service the ratio of a figure of arm `ours` to that of arms `theirs`, by round. */
export function ratiosByRound(arms, figure, ours, theirs) {
  return arms.get(ours).map((cell) => {
    const others = theirs.map((arm) => arms.get(arm).find(({ round }) => round === cell.round));
    return figure(cell) / Math.exp(mean(others.map((one) => Math.log(figure(one)))));
  });
}

/**
 * The geometric mean of ratios, of services in which each round is one of a list, with 95 % of a
 * bootstrap over the rounds of each, and in how many rounds it is less.
 */
export function meanOfRounds(services) {
  const random = seededRandom(SEED);
  const logs = services.map((ratios) => ratios.map(Math.log));
  const drawn = Array.from({ length: RESAMPLES }, () => {
    return mean(logs.map((own) => mean(own.map(() => own[Math.floor(random() * own.length)]))));
  });
  drawn.sort((a, b) => a - b);
  const all = services.flat();
  return {
    ratio: Math.exp(mean(logs.map(mean))),
    low: Math.exp(quantile(drawn, 0.025)),
    high: Math.exp(quantile(drawn, 0.975)),
    less: all.filter((ratio) => ratio < 1).length,
    rounds: all.length,
  };
}
