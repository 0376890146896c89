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
  /** From when to when what came is to be left out, in order and apart from each other. */
  #windows = [];
  #leftOutMs = 0;
  #startMs = performance.now();
  #look = { ms: this.#startMs, ns: stolenNs() };
  #timer = setInterval(() => this.#lookAgain(), LOOK_MS);

  #lookAgain() {
    const before = this.#look;
    this.#look = { ms: performance.now(), ns: stolenNs() };
    if (this.#look.ns === before.ns) return;
    const last = this.#windows.at(-1);
    const fromMs = before.ms - BEFORE_MS;
    const toMs = this.#look.ms + AFTER_MS;
    if (last && fromMs <= last.toMs) {
      this.#leftOutMs += toMs - last.toMs;
      last.toMs = toMs;
    } else {
      this.#leftOutMs += toMs - fromMs;
      this.#windows.push({ fromMs, toMs });
    }
  }

  /** How long this machine was left alone so far, by the last look. */
  undisturbedMs() {
    return Math.max(0, this.#look.ms - this.#startMs - this.#leftOutMs);
  }

  /** A function that tells whether a moment (ms of `performance.now`) is to be left out. */
  stop() {
    clearInterval(this.#timer);
    this.#lookAgain();
    return (ms) => this.#windows.some(({ fromMs, toMs }) => ms > fromMs && ms < toMs);
  }
}
