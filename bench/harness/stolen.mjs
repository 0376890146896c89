// When the host took time from this machine, so that what came then can be left out.
//
// A host takes tens of milliseconds at once, which are p99.9 of a minute, and does so no less often
// during one arm than during another. The kernel counts what was taken in steps of 10 ms, so less
// than that is told with what follows.
import { stolenNs } from './cpu.mjs';

const LOOK_MS = 50;
/** What came so long before a look that tells of it may have been stopped by it already. */
const BEFORE_MS = 50;
/** A queue that grew meanwhile is gone by then: the loops are half busy. */
const AFTER_MS = 200;

/** Looks until it is stopped. */
export class StolenWatch {
  #looks = [];
  #timer;

  constructor() {
    this.#look();
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
  }

  #look() {
    this.#looks.push([performance.now(), stolenNs()]);
  }

  /** A function that tells whether a moment (ms of `performance.now`) is to be left out. */
  stop() {
    clearInterval(this.#timer);
    this.#look();
    const taken = this.#looks
      .slice(1)
      .map(([atMs, ns], index) => [this.#looks[index][0], atMs, ns > this.#looks[index][1]])
      .filter(([, , wasTaken]) => wasTaken);
    return (ms) => taken.some(([from, to]) => ms > from - BEFORE_MS && ms < to + AFTER_MS);
  }
}
