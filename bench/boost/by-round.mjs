// Two arms that had one service in turns, round by round: a round is a process of its own, and its
// turns are no more independent of each other than that process lets them be.
//
// Of each round the logarithm of a ratio to the mean of the logarithms of those compared with, and
// of all rounds the mean: no round has more to say for having had a longer tail.
import { seededRandom } from '../../packages/bobtail/dist/prove/shuffle.js';
import { LatencyHistogram } from '../harness/latency-histogram.mjs';
import { geometricMean, mean, quantile } from '../harness/statistics.mjs';

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
/** 97.5 % of Student's t by degrees of freedom from 1 on; of more it is taken for the last. */
const STUDENT = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145,
  2.131, 2.12, 2.11, 2.101, 2.093, 2.086,
];

function percentile(text, p) {
  return LatencyHistogram.fromText(text).percentileMs(p);
}

/** Such as `0.930 [0.870–1.000]`, of what `meanOfRounds` and `studentOfRounds` tell. */
export function ratioText({ ratio, low, high }) {
  if (!Number.isFinite(ratio)) return '–';
  const interval = Number.isFinite(low) ? ` [${low.toFixed(3)}–${high.toFixed(3)}]` : '';
  return `${ratio.toFixed(3)}${interval}`;
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
    ratio: geometricMean(services.map(geometricMean)),
    less: all.filter((ratio) => ratio < 1 - SAME).length,
    rounds: all.length,
  };
}

/**
 * The same with 95 % of a bootstrap over the rounds of each. A sample of five rounds spreads by
 * four fifths of the variance that five rounds have, so its deviation is scaled up (Rao and Wu,
 * JASA 83, 1988). By Student's t it is wider yet (`studentOfRounds`). Where a service has one
 * round there is no interval: its bounds are NaN.
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

/**
 * The same with 95 % by Student's t, of logarithms: each service has a variance of its own, so that
 * the degrees of freedom are Welch's (Biometrika 34, 1947), rounded down. Where a service has one
 * round its bounds are NaN.
 */
export function studentOfRounds(services) {
  const each = services.map((ratios) => {
    const logs = ratios.map(Math.log);
    const [middle, rounds] = [mean(logs), logs.length];
    const squares = logs.map((one) => (one - middle) ** 2);
    return { ofMean: mean(squares) / (rounds - 1) / services.length ** 2, free: rounds - 1 };
  });
  const variance = each.reduce((sum, { ofMean }) => sum + ofMean, 0);
  const free = variance ** 2 / each.reduce((sum, one) => sum + one.ofMean ** 2 / one.free, 0);
  const at = Math.min(Math.floor(free + SAME), STUDENT.length) - 1;
  const half = (STUDENT[at] ?? Number.NaN) * Math.sqrt(variance);
  const { ratio, less, rounds } = ratioOfRounds(services);
  return { ratio, less, rounds, low: ratio * Math.exp(-half), high: ratio * Math.exp(half) };
}
