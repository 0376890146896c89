// When the host took time from this machine, so that what came then can be left out.
//
// A host takes tens of milliseconds at once, which are p99.9 of a minute, and does so no less often
// during one arm than during another. `record` notes the same, and `whatif` leaves the same out
// (`crates/sim/src/disturbed.rs`).
import { StolenWatch as Watch } from '../../packages/bobtail/dist/cli/record/stolen.js';

/** The kernel counts in steps of 10 ms, so less than that is told with what follows. */
const BEFORE_MS = 50;
/** A queue that grew meanwhile is gone after so many times what was taken, within these bounds. */
const AFTER_BY_TAKEN = 4;
const AFTER_MS_MIN = 100;
const AFTER_MS_MAX = 200;
/** So that asking costs nothing, however often. */
const ASKED_EVERY_MS = 50;

/** From when to when what came is left out (ms of `performance.now`), apart from each other. */
export function windowsOf(intervals, toMs) {
  const windows = [];
  for (const { fromNs, untilNs, takenNs } of intervals) {
    const wantedMs = (AFTER_BY_TAKEN * takenNs) / 1e6;
    const afterMs = Math.min(AFTER_MS_MAX, Math.max(AFTER_MS_MIN, wantedMs));
    const [fromMs, untilMs] = [toMs(fromNs) - BEFORE_MS, toMs(untilNs) + afterMs];
    const last = windows.at(-1);
    if (last && fromMs <= last.untilMs) last.untilMs = Math.max(last.untilMs, untilMs);
    else windows.push({ fromMs, untilMs });
  }
  return windows;
}

/** How much of the time until `nowMs` no window covers. */
export function uncoveredMs(windows, startMs, nowMs) {
  const covered = windows.map(({ fromMs, untilMs }) => {
    return Math.max(0, Math.min(untilMs, nowMs) - Math.max(fromMs, startMs));
  });
  return nowMs - startMs - covered.reduce((sum, ms) => sum + ms, 0);
}

/** Looks until it is stopped. */
export class StolenWatch {
  #watch = new Watch();
  #startMs = performance.now();
  #asked = { atMs: this.#startMs, undisturbedMs: 0 };
  /** Between the two clocks. */
  #aheadMs = Number(process.hrtime.bigint()) / 1e6 - performance.now();

  #windows() {
    return windowsOf(this.#watch.intervals, (ns) => ns / 1e6 - this.#aheadMs);
  }

  /** How long this machine was left alone so far, as was known a moment ago. */
  undisturbedMs() {
    const nowMs = performance.now();
    if (nowMs - this.#asked.atMs >= ASKED_EVERY_MS) {
      const undisturbedMs = uncoveredMs(this.#windows(), this.#startMs, nowMs);
      this.#asked = { atMs: nowMs, undisturbedMs };
    }
    return this.#asked.undisturbedMs;
  }

  /** A function that tells whether a moment (ms of `performance.now`) is to be left out. */
  stop() {
    this.#watch.stop();
    const windows = this.#windows();
    return (ms) => windows.some(({ fromMs, untilMs }) => ms > fromMs && ms < untilMs);
  }
}
