/**
 * When the hypervisor gave this machine's CPUs to others while it was recorded.
 *
 * No thread of the guest sees that it was stopped: the time is in whatever it was doing. The kernel
 * tells sums for the machine, in ticks, so they are read again and again: what came while one grew
 * can then be told from what the service itself made slow.
 */
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import type { TakenInterval } from '../json/run';
import { lookEveryMs } from './look-period';
import { TakenIntervals } from './taken-intervals';

/** Ticks of `/proc/stat`: USER_HZ is 100 on every architecture Node runs on. */
const NS_PER_TICK = 10_000_000;
const NS_PER_MS = 1e6;
const STEAL_FIELD = 8;
const TRIED_LOOKS = 5;
/**
 * Of the time of all CPUs, between two looks. Of hundreds of CPUs one is taken from at any moment,
 * which says nothing of the one or two that a service runs on.
 */
const NOTABLE_SHARE = 0.01;

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

/** What a watch looks at, other than this machine. */
export interface Watched {
  readonly path?: string;
  readonly cpus?: number;
  readonly intervalsMax?: number;
}

/** Looks until it is stopped. */
export class StolenWatch {
  readonly #path: string | undefined;
  readonly #cpus: number;
  readonly #timer: NodeJS.Timeout | undefined;
  /** The last time that the kernel told; null where it never did. */
  #last: { readonly atNs: number; readonly stolenNs: number } | null = null;
  #totalNs = 0;
  readonly #intervals: TakenIntervals;

  constructor(watched: Watched = {}) {
    this.#path = watched.path;
    this.#cpus = watched.cpus ?? Math.max(1, cpus().length);
    this.#intervals = new TakenIntervals(watched.intervalsMax);
    const everyMs = this.#cheapEnoughMs();
    this.look();
    if (this.#last !== null) {
      this.#timer = setInterval(() => this.look(), everyMs);
      this.#timer.unref();
    }
  }

  /** Everything that was taken; null where the kernel does not tell. */
  get totalNs(): number | null {
    return this.#last === null ? null : this.#totalNs;
  }

  /** When, in order and apart from each other. */
  get intervals(): readonly TakenInterval[] {
    return this.#intervals.all;
  }

  /** Looks for the last time. */
  stop(): void {
    clearInterval(this.#timer);
    this.look();
  }

  /** Looks now. A sum that falls, as it may where a guest moves, is where it begins anew. */
  look(): void {
    const stolenNs = readStealNs(this.#path);
    if (stolenNs === null) return;
    const before = this.#last;
    const atNs = Number(process.hrtime.bigint());
    this.#last = { atNs, stolenNs };
    if (before === null || stolenNs <= before.stolenNs) return;
    const takenNs = stolenNs - before.stolenNs;
    this.#totalNs += takenNs;
    if (takenNs >= NOTABLE_SHARE * (atNs - before.atNs) * this.#cpus) {
      this.#intervals.add({ fromNs: before.atNs, untilNs: atNs, takenNs });
    }
  }

  /** How often it may look. The least of a few: a look may be stopped itself. */
  #cheapEnoughMs(): number {
    const tookMs = Array.from({ length: TRIED_LOOKS }, () => {
      const beforeNs = process.hrtime.bigint();
      readStealNs(this.#path);
      return Number(process.hrtime.bigint() - beforeNs) / NS_PER_MS;
    });
    return lookEveryMs(Math.min(...tookMs));
  }
}
