// An arm of the live rounds beside the base: what became shorter, with intervals from a paired
// bootstrap over rounds, as `bobtail tune` has them.
import { analyzeRounds } from '../../packages/bobtail/dist/cli/analysis.js';
import { LatencyHistogram } from '../harness/latency-histogram.mjs';
import { mean } from '../harness/statistics.mjs';
import { energyOf, pooled } from './cells.mjs';

/** Percentiles that are compared. */
export const TAILS = [99.9, 99];
const UNTOLD = TAILS.map(() => null);

/** One round of an arm by its `bucket:count` pairs, as the comparison of rounds takes it. */
export function toRound(latencies) {
  const pairs = latencies.split(' ').map((pair) => pair.split(':').map(Number));
  return {
    latencies: pairs.map(([bucket, count]) => [Math.round(1.01 ** bucket * 1000), count]),
    measures: [1, 1, 1],
  };
}

/** Of each of `TAILS` how many times as long it became; null where too few requests tell it. */
export function tailRatios(before, after) {
  const both = [before, after].map((one) => LatencyHistogram.fromText(one));
  return TAILS.map((tail) => {
    const [beforeMs, afterMs] = both.map((one) => one.percentileMs(tail));
    return beforeMs === null || afterMs === null ? null : afterMs / beforeMs;
  });
}

/** An arm beside the base in the rounds that both have. */
export async function compared(base, own) {
  const rounds = base.map(({ round }) => round).filter((n) => own.some(({ round }) => round === n));
  const inRound = (cells, n) => cells.find(({ round }) => round === n);
  const of = (cells, figure) => rounds.map((n) => toRound(inRound(cells, n)[figure]));
  const ratiosByRound = (figure) => {
    const both = rounds.map((n) => [base, own].map((cells) => inRound(cells, n)[figure]));
    return both.map((two) => (two.includes(undefined) ? UNTOLD : tailRatios(...two)));
  };
  // Older runs have kept no others than those of fast turns, as the load saw them.
  const figures = ['latencies', 'latenciesOfAllTurns', 'latenciesAtService'];
  const [fast, all, atService] = await Promise.all(
    figures.map((figure) => {
      const isKept = [...base, ...own].every((cell) => cell[figure] !== undefined);
      return isKept ? analyzeRounds(of(base, figure), of(own, figure)) : { percentiles: [] };
    }),
  );
  const meanOf = (figure) => mean(own.map(figure));
  return {
    rounds: rounds.length,
    numbers: rounds,
    pooled: pooled(own),
    percentiles: fast.percentiles,
    ofAllTurns: { percentiles: all.percentiles },
    byRound: ratiosByRound('latencies'),
    atService: {
      percentiles: atService.percentiles,
      byRound: ratiosByRound('latenciesAtService'),
    },
    energy: meanOf(energyOf),
    boosted: meanOf((cell) => cell.boostedShare),
    perS: meanOf((cell) => cell.boosts / (cell.ranNs / 1e9)),
    busy: meanOf((cell) => cell.loopShare),
  };
}
