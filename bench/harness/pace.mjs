// How fast the CPUs of an experiment are, by a fixed piece of work that each has a hundred times a
// second (`crates/control/examples/stalls.rs`).
//
// A neighbour on the other half of a core makes it slower by half for seconds to minutes, of which
// the kernel tells nothing. What a request takes tells of it, but also of how many the service
// answers in one turn of its loop, and an arm that has only had slow turns has nothing to tell
// them by. This measure is one for all arms: in the order of an arm's turns by it and by what a
// request took, ranks correlate by 0.88 to 0.97.
import { setTimeout as sleep } from 'node:timers/promises';
import { quantile } from './statistics.mjs';

/** Of all looks at a CPU, the share in which it was as fast as it can be. */
const FAST_SHARE = 0.1;
/** Looks at each CPU that are to be calm before somebody begins. */
const LATEST = 2;
const AGAIN_MS = 100;
/** A phase that lasts longer than this may last for minutes. */
const WAIT_MS_MAX = 4000;

export class Pace {
  /** By CPU: how slow it may be, and what was seen. */
  #cpus = new Map();

  /**
   * By how much a CPU may be slower on the average than in the fastest tenth of all looks: it is
   * one that matters from now on.
   */
  limit(cpu, slownessMax) {
    this.#cpus.set(cpu, { slownessMax, looks: [] });
  }

  /** A look at a CPU: what its piece of work took, and until when (`performance.now`). */
  add(cpu, { atMs, workNs }) {
    this.#cpus.get(cpu)?.looks.push({ atMs, workNs });
  }

  /**
   * By CPU that matters, how much longer the work took in the mean of looks between two moments
   * than in the fastest tenth of all until now; `null` where nobody looked.
   */
  slowness(fromMs, untilMs) {
    return this.#slowness((looks) => looks.filter(({ atMs }) => atMs >= fromMs && atMs <= untilMs));
  }

  #slowness(pick) {
    return [...this.#cpus].map(([cpu, { slownessMax, looks }]) => {
      const picked = pick(looks).map(({ workNs }) => workNs);
      if (picked.length === 0) return { cpu, slownessMax, slowness: null };
      const all = looks.map(({ workNs }) => workNs).sort((a, b) => a - b);
      const meanNs = picked.reduce((sum, one) => sum + one, 0) / picked.length;
      return { cpu, slownessMax, slowness: meanNs / quantile(all, FAST_SHARE) };
    });
  }

  /** Waits until all CPUs are fast, or for a while; whether they are. */
  async untilCalm() {
    const endMs = performance.now() + WAIT_MS_MAX;
    while (!isCalm(this.#slowness((looks) => looks.slice(-LATEST)))) {
      if (performance.now() > endMs) return false;
      await sleep(AGAIN_MS);
    }
    return true;
  }
}

/** Whether no CPU was slower than it may be; not where nobody looked at one. */
export function isCalm(cpus) {
  return cpus.every(({ slowness, slownessMax }) => slowness !== null && slowness <= slownessMax);
}
