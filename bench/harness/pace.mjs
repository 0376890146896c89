// How fast the CPUs of an experiment are, by a fixed piece of work that each has a hundred times a
// second (`crates/control/examples/stalls.rs`).
//
// A neighbour on the other half of a core makes it slower by half for seconds to minutes, of which
// the kernel tells nothing. What a request takes tells of it, but also of how many the service
// answers in one turn of its loop, and an arm that has only had slow turns has nothing to tell
// them by. This measure is one for all arms: in the order of an arm's turns by it and by what a
// request took, ranks correlate by 0.88 to 0.97. A turn that is fast on the average is not good
// enough, since a quarter of a second at half the speed makes its p99.9: slow stretches are left
// out one by one.
import { setTimeout as sleep } from 'node:timers/promises';
import { quantile } from './statistics.mjs';

/** Of all looks at a CPU, the share in which it was as fast as it can be. */
const FAST_SHARE = 0.1;
/** Looks at each CPU that are to be calm before somebody begins. */
const LATEST = 5;
/** What a look is of: until it was told, for so long. */
const LOOK_MS = 100;
/** A queue that grew in a slow stretch is gone so much later. */
const AFTER_MS = 150;
const AGAIN_MS = 100;
/** A phase that lasts longer than this may last for minutes. */
const WAIT_MS_MAX = 2000;

export class Pace {
  /**
   * By CPU: how slow it may be, what was seen, and what the work took in ascending order: of hours
   * it would be sorted ten times a second.
   */
  #cpus = new Map();

  /**
   * By how much a look at a CPU may be slower than its fastest tenth: it is one that matters from
   * now on.
   */
  limit(cpu, slownessMax) {
    this.#cpus.set(cpu, { slownessMax, looks: [], worksNs: [] });
  }

  /** A look at a CPU: what its piece of work took, and until when (`performance.now`). */
  add(cpu, { atMs, workNs }) {
    const seen = this.#cpus.get(cpu);
    if (seen === undefined) return;
    const { looks, worksNs } = seen;
    looks.push({ atMs, workNs });
    const place = worksNs.findLastIndex((one) => one <= workNs) + 1;
    worksNs.splice(place, 0, workNs);
  }

  /**
   * By CPU that matters, how much longer the work took in the mean of looks between two moments
   * than in the fastest tenth of all until now; `null` where nobody looked.
   */
  slowness(fromMs, untilMs) {
    return [...this.#cpus.values()].map(({ looks, worksNs }) => {
      const within = looks.filter(({ atMs }) => atMs >= fromMs && atMs <= untilMs);
      const sumNs = within.reduce((sum, { workNs }) => sum + workNs, 0);
      return within.length === 0 ? null : sumNs / within.length / quantile(worksNs, FAST_SHARE);
    });
  }

  /**
   * From when to when what came between two moments is left out since a CPU that matters was slow,
   * in order; they may overlap.
   */
  slowWindows(fromMs, untilMs) {
    const slow = [...this.#cpus.values()].flatMap(({ looks, worksNs, slownessMax }) => {
      const mostNs = slownessMax * quantile(worksNs, FAST_SHARE);
      return looks.filter(
        ({ atMs, workNs }) => atMs >= fromMs && atMs - LOOK_MS <= untilMs && workNs > mostNs,
      );
    });
    slow.sort((one, other) => one.atMs - other.atMs);
    return slow.map(({ atMs }) => ({ fromMs: atMs - LOOK_MS, untilMs: atMs + AFTER_MS }));
  }

  get #isCalm() {
    return [...this.#cpus.values()].every(({ looks, worksNs, slownessMax }) => {
      const mostNs = slownessMax * quantile(worksNs, FAST_SHARE);
      return looks.length > 0 && looks.slice(-LATEST).every(({ workNs }) => workNs <= mostNs);
    });
  }

  /** Waits until all CPUs are fast, or for a while; whether they are. */
  async untilCalm() {
    const endMs = performance.now() + WAIT_MS_MAX;
    while (!this.#isCalm) {
      if (performance.now() > endMs) return false;
      await sleep(AGAIN_MS);
    }
    return true;
  }
}
