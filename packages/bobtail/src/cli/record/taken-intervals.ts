/**
 * When time was taken from a service, as a bounded list: what grows from look to look is one
 * interval, and where there are too many, neighbours become one. So that a recording of days does
 * not fill its files.
 */
import type { TakenInterval } from '../json/run';

const INTERVALS_MAX = 10_000;

/** Intervals in order and apart from each other, at most `max` of them. */
export class TakenIntervals {
  readonly #max: number;
  #all: TakenInterval[] = [];

  constructor(max = INTERVALS_MAX) {
    this.#max = max;
  }

  get all(): readonly TakenInterval[] {
    return this.#all;
  }

  /** Adds one that begins where the last one ended, or later. */
  add(one: TakenInterval): void {
    const last = this.#all.at(-1);
    if (last?.untilNs === one.fromNs) {
      this.#all[this.#all.length - 1] = joined(last, one);
      return;
    }
    this.#all.push(one);
    if (this.#all.length > this.#max) this.#all = inPairs(this.#all);
  }
}

function joined(one: TakenInterval, next: TakenInterval): TakenInterval {
  const takenNs = one.takenNs + next.takenNs;
  return { fromNs: one.fromNs, untilNs: next.untilNs, takenNs };
}

/** Half as many, each with what lies between two. */
function inPairs(intervals: readonly TakenInterval[]): TakenInterval[] {
  return intervals.flatMap((one, index) => {
    const next = intervals[index + 1];
    if (index % 2 === 1) return [];
    return [next === undefined ? one : joined(one, next)];
  });
}
