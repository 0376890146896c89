// What an arm's turns came to, of which those count in which its core was at its fastest.
//
// A neighbour on the other half of the core makes it slower by half for some seconds, of which the
// kernel tells nothing. At the same load the loop is then hardly ever idle, and p99.9 of a round
// is that of these seconds, in whichever arm's turn they fell: the same arm twice was 8 times
// apart. How much of its core a request takes tells of it, whatever the arm.
import { LatencyHistogram } from '../harness/latency-histogram.mjs';
import { quartiles } from '../harness/statistics.mjs';

/** By how much a request may take more than in a quarter of the arm's turns, the fastest. */
const OFF_MAX = 0.2;
/** Of each turn these are kept one by one: whether a tail is of one turn or of many shows then. */
const SLOWEST = 20;

const sumOf = (list, figure) => list.reduce((sum, one) => sum + one[figure], 0);

/** Of these turns together. */
function histogramOf(turns) {
  const texts = turns.map(({ histogram }) => histogram.toText());
  return LatencyHistogram.fromText(texts.join(' '));
}

/** Of one arm in one round. */
export class Tally {
  #turns = [];

  /**
   * Takes a turn in: what its requests took in ms, of those that nothing disturbed; how many were
   * `sent` in all, and what its sums are.
   */
  add({ latenciesMs, ...turn }) {
    const histogram = new LatencyHistogram();
    for (const ms of latenciesMs) histogram.add(ms);
    const slowest = latenciesMs.toSorted((a, b) => b - a).slice(0, SLOWEST);
    const slowestMs = slowest.map((ms) => Number(ms.toFixed(1)));
    this.#turns.push({ ...turn, histogram, slowestMs, perRequestNs: turn.loopNs / turn.sent });
  }

  /** A figure of all turns together. */
  sum(figure) {
    return sumOf(this.#turns, figure);
  }

  /** A figure of each turn. */
  each(figure) {
    return this.#turns.map((turn) => turn[figure]);
  }

  /**
   * Those that count, as they were added. Not those around the middle one: where the core is slow
   * for half a round, they are of both.
   */
  get fast() {
    const { low } = quartiles(this.each('perRequestNs'));
    return this.#turns.filter(({ perRequestNs }) => perRequestNs <= low * (1 + OFF_MAX));
  }

  /** How many requests count: those of fast turns that nothing disturbed. */
  get requests() {
    return histogramOf(this.fast).count;
  }

  /** Those of requests that count and in how many turns, and those of all turns. */
  latencies() {
    const { fast } = this;
    return {
      fastTurns: fast.length,
      histogram: histogramOf(fast),
      ofAllTurns: histogramOf(this.#turns),
    };
  }
}
