// What an arm's turns came to, of which those count in which its cores were fast for most of it.
//
// A neighbour on the other half of the core makes it slower by half for some seconds, of which the
// kernel tells nothing. At the same load the loop is then hardly ever idle, and p99.9 of a round
// is that of these seconds, in whichever arm's turn they fell: the same arm twice was 8 times
// apart. They are left out one by one; what is left of a turn that was slow for most of it began
// in a queue.
import { LatencyHistogram } from '../harness/latency-histogram.mjs';

/** Of its requests, those that nothing disturbed where a turn counts. */
const UNDISTURBED_MIN = 0.25;

/** Of each turn these are kept one by one: whether a tail is of one turn or of many shows then. */
const SLOWEST = 20;

const sumOf = (list, figure) => list.reduce((sum, one) => sum + one[figure], 0);

/** Whether enough of a turn was undisturbed. */
function isFast({ histogram: { count }, leftOut }) {
  return count > UNDISTURBED_MIN * (count + leftOut);
}

/** A histogram of these turns together. */
function histogramOf(turns, figure = 'histogram') {
  const texts = turns.map((turn) => turn[figure].toText());
  return LatencyHistogram.fromText(texts.join(' '));
}

/** Of one arm in one round. */
export class Tally {
  #turns = [];

  /**
   * Takes a turn in: what its requests took in ms, of those that nothing disturbed, and
   * `atService` a histogram of what they took there; how many were
   * `sent` in all, the `slowness` of its cores (`Pace`), and what its sums are.
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

  /** Those that count. */
  get fast() {
    return this.#turns.filter(isFast);
  }

  /** How many requests count: those of fast turns that nothing disturbed. */
  get requests() {
    return this.fast.reduce((sum, { histogram }) => sum + histogram.count, 0);
  }

  /**
   * Of each that counts its place among all, what its requests took, and for which
   * share of it the lever was up: who was beside whom tells more than sums where turns are on one
   * service.
   */
  byTurn() {
    return this.#turns.flatMap((turn, place) => {
      if (!isFast(turn)) return [];
      const boostedShare = Number((turn.raisedNs / turn.hadNs).toFixed(5));
      const latencies = turn.histogram.toText();
      const latenciesAtService = turn.atService.toText();
      return [{ turn: place, boostedShare, latencies, latenciesAtService }];
    });
  }

  /** Those of requests that count and in how many turns, those of all turns, and at the service. */
  latencies() {
    const { fast } = this;
    return {
      fastTurns: fast.length,
      histogram: histogramOf(fast),
      ofAllTurns: histogramOf(this.#turns),
      atService: histogramOf(fast, 'atService'),
    };
  }
}
