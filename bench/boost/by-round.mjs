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
/** Of as many parts of a round's turns, one after the other. */
export const PARTS = 3;
const RESAMPLES = 20_000;
/** What is the same differs by that where it is reckoned by logarithms. */
const SAME = 1e-9;
const SEED = 1;

function percentile(text, p) {
  return LatencyHistogram.fromText(text).percentileMs(p);
}

/** What is compared of one part of a round's turns (from 0), at the service. */
export function figuresOfPart(part) {
  const turnsOf = ({ byTurn }) => {
    const [from, until] = [part, part + 1].map((one) => Math.floor((one * byTurn.length) / PARTS));
    return byTurn.slice(from, until);
  };
  const texts = (cell) => turnsOf(cell).map((turn) => turn.latenciesAtService);
  return {
    'service: p99': (cell) => percentile(texts(cell).join(' '), 99),
    'time boosted': (cell) => mean(turnsOf(cell).map((turn) => turn.boostedShare)),
  };
}

/**
 * Of one service the ratio of a figure of arms `ours` to that of arms `theirs`, by round; of an arm
 * that was there twice the geometric mean of both.
 */
export function ratiosByRound(arms, figure, ours, theirs) {
  return arms.get(ours[0]).map(({ round: number }) => {
    const logOf = (names) => {
      const cells = names.map((arm) => arms.get(arm).find(({ round }) => round === number));
      return mean(cells.map((cell) => Math.log(figure(cell))));
    };
    return Math.exp(logOf(ours) - logOf(theirs));
  });
}

/**
 * The geometric mean of ratios, of services in which each round is one of a list, and in how many
 * rounds it is less.
 */
export function ratioOfRounds(services) {
  const all = services.flat();
  return {
    ratio: Math.exp(mean(services.map((ratios) => mean(ratios.map(Math.log))))),
    less: all.filter((ratio) => ratio < 1 - SAME).length,
    rounds: all.length,
  };
}

/**
 * The same with 95 % of a bootstrap over the rounds of each. A sample of five rounds spreads by
 * four fifths of the variance that five rounds have, so its deviation is scaled up (Rao and Wu,
 * JASA 83, 1988). Student's t would have it wider yet, by a tenth to a quarter. Where a service
 * has one round there is no interval: its bounds are NaN.
 */
export function meanOfRounds(services) {
  const random = seededRandom(SEED);
  const each = services.map((ratios) => {
    const logs = ratios.map(Math.log);
    return { logs, middle: mean(logs), scale: Math.sqrt(logs.length / (logs.length - 1)) };
  });
  const drawn = Array.from({ length: RESAMPLES }, () => {
    const samples = each.map(({ logs, middle, scale }) => {
      const sample = mean(logs.map(() => logs[Math.floor(random() * logs.length)]));
      return middle + scale * (sample - middle);
    });
    return mean(samples);
  });
  drawn.sort((a, b) => a - b);
  const [low, high] = [0.025, 0.975].map((part) => Math.exp(quantile(drawn, part)));
  return { ...ratioOfRounds(services), low, high };
}
