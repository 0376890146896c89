/**
 * When the hypervisor gave this machine's CPUs to others while it was recorded.
 *
 * No thread of the guest sees that it was stopped: the time is in whatever it was doing. The kernel
 * tells sums for the machine, in ticks, so they are read again and again: what came while one grew
 * can then be told from what the service itself made slow.
 */
import { readFileSync } from 'node:fs';
import type { StolenInterval } from '../json/run';

/** Ticks of `/proc/stat`: USER_HZ is 100 on every architecture Node runs on. */
const NS_PER_TICK = 10_000_000;
const STEAL_FIELD = 8;
const LOOK_MS = 50;
/** A kernel with hundreds of CPUs takes a millisecond to write the file. */
const SHARE_OF_TIME_MAX = 0.005;
/** So that a recording of days on such a machine does not fill `run.json`. */
const INTERVALS_MAX = 10_000;

/** Time stolen from all CPUs since the machine started; null where the kernel does not tell. */
export function readStealNs(path = '/proc/stat'): number | null {
  try {
    const [line = ''] = readFileSync(path, 'latin1').split('\n', 1);
    const ticks = Number(line.trim().split(/\s+/)[STEAL_FIELD] ?? Number.NaN);
    return line.startsWith('cpu') && Number.isSafeInteger(ticks) ? ticks * NS_PER_TICK : null;
  } catch (error) {
    // No procfs, or none that may be read: unknown.
    void error;
    return null;
  }
}

/** Looks until it is stopped. */
export class StolenWatch {
  readonly #path: string | undefined;
  readonly #firstNs: number | null;
  #last: { readonly atNs: number; readonly stolenNs: number | null };
  #intervals: StolenInterval[] = [];
  /** Intervals that are no further apart are one. */
  #apartNs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(path?: string) {
    this.#path = path;
    this.#last = this.#read();
    this.#firstNs = this.#last.stolenNs;
    if (this.#firstNs !== null) {
      this.#lookLater(LOOK_MS);
    }
  }

  /** Everything that was taken; null where the kernel does not tell. */
  get totalNs(): number | null {
    const { stolenNs } = this.#last;
    return stolenNs === null || this.#firstNs === null ? null : stolenNs - this.#firstNs;
  }

  /** When, in order and apart from each other. */
  get intervals(): readonly StolenInterval[] {
    return this.#intervals;
  }

  /** Looks for the last time. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#look();
  }

  #read(): { atNs: number; stolenNs: number | null } {
    const stolenNs = readStealNs(this.#path);
    return { atNs: Number(process.hrtime.bigint()), stolenNs };
  }

  #lookLater(ms: number): void {
    this.#timer = setTimeout(() => {
      const beforeMs = performance.now();
      this.#look();
      const tookMs = performance.now() - beforeMs;
      this.#lookLater(Math.max(LOOK_MS, tookMs / SHARE_OF_TIME_MAX));
    }, ms);
    this.#timer.unref();
  }

  #look(): void {
    const before = this.#last;
    const now = this.#read();
    this.#last = now;
    if (before.stolenNs === null || now.stolenNs === null || now.stolenNs <= before.stolenNs) {
      return;
    }
    const takenNs = now.stolenNs - before.stolenNs;
    const last = this.#intervals.splice(-1);
    const one = { fromNs: before.atNs, untilNs: now.atNs, takenNs };
    this.#intervals.push(...joined([...last, one], this.#apartNs));
    while (this.#intervals.length > INTERVALS_MAX) {
      this.#apartNs = Math.max(LOOK_MS * 1e6, this.#apartNs * 2);
      this.#intervals = joined(this.#intervals, this.#apartNs);
    }
  }
}

/** Those that are no further apart than `apartNs` as one. */
function joined(intervals: readonly StolenInterval[], apartNs: number): StolenInterval[] {
  const all: StolenInterval[] = [];
  for (const one of intervals) {
    const last = all.at(-1);
    if (last !== undefined && one.fromNs - last.untilNs <= apartNs) {
      const takenNs = last.takenNs + one.takenNs;
      all[all.length - 1] = { fromNs: last.fromNs, untilNs: one.untilNs, takenNs };
    } else {
      all.push(one);
    }
  }
  return all;
}
