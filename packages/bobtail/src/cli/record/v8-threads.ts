/**
 * When V8's own threads, which compile and collect, had the CPUs that a service's loop may run on.
 *
 * From outside, by the kernel's account of each thread: the loop cannot see who had its CPU, and to
 * have the kernel record each switch costs it (`--not-running`). Of processes with few CPUs only:
 * with more V8's threads have others. They are known by their name, which V8 gives them from
 * Node 24 on; before, nothing tells them from the pool's.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TakenInterval } from '../json/run';
import { readRecordedProcesses, rewriteProcessFile } from './agent-files';
import { lookEveryMs } from './look-period';
import { TakenIntervals } from './taken-intervals';

/** What V8's threads of a process did. */
export interface V8ThreadsFacts {
  /** CPUs that the process may run on. */
  readonly cpus: number;
  /** CPU time of all of them together while they were watched. */
  readonly ranNs: number;
  /** When they took more than the CPUs that the loop does not need. */
  readonly taken: readonly TakenInterval[];
}

const CPUS_MAX = 2;
/** `node-V8Worker`: Node puts its own name before V8's. */
const NAME = /V8Worker$/;
/** Of the time between two looks. */
const NOTABLE_SHARE = 0.01;

/** What a watch looks at, other than this machine. */
export interface WatchedSystem {
  readonly proc?: string;
  readonly nowNs?: () => number;
}

/** The text of a file of procfs; null where its process or thread has ended. */
function read(path: string): string | null {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    // It ends when it likes.
    void error;
    return null;
  }
}

/** One thread's CPU time. */
class Thread {
  readonly #path: string;
  #lastNs: number;

  constructor(path: string) {
    this.#path = path;
    this.#lastNs = this.#readNs() ?? 0;
  }

  /** How long it ran since it was last asked. */
  ranNs(): number {
    const nowNs = this.#readNs() ?? this.#lastNs;
    const ranNs = Math.max(0, nowNs - this.#lastNs);
    this.#lastNs = nowNs;
    return ranNs;
  }

  #readNs(): number | null {
    const text = read(this.#path);
    const ns = Number(text?.split(' ', 1)[0]);
    return text === null || !Number.isSafeInteger(ns) ? null : ns;
  }
}

/** V8's threads of one process. */
class WatchedProcess {
  readonly #folder: string;
  readonly #threads = new Map<string, Thread>();
  /** Those of other names. */
  readonly #others = new Set<string>();
  readonly #taken = new TakenIntervals();
  #cpus = 0;
  #ranNs = 0;
  #lastNs: number;

  constructor(folder: string, nowNs: number) {
    this.#folder = folder;
    this.#lastNs = nowNs;
  }

  /** Whether there is anything to look at. */
  get isWatched(): boolean {
    return this.#threads.size > 0 && this.#cpus > 0 && this.#cpus <= CPUS_MAX;
  }

  get facts(): V8ThreadsFacts | null {
    if (!this.isWatched) return null;
    return { cpus: this.#cpus, ranNs: this.#ranNs, taken: this.#taken.all };
  }

  /** Finds threads that have begun. What is known of a process that has ended stays. */
  find(): void {
    const status = read(join(this.#folder, 'status'));
    if (status === null) return;
    this.#cpus = cpusIn(status);
    for (const thread of threadsOf(this.#folder)) {
      if (this.#threads.has(thread) || this.#others.has(thread)) continue;
      const place = join(this.#folder, 'task', thread);
      const name = read(join(place, 'comm'));
      if (name === null) continue;
      if (NAME.test(name.trim())) this.#threads.set(thread, new Thread(join(place, 'schedstat')));
      else this.#others.add(thread);
    }
  }

  look(nowNs: number): void {
    const lastNs = this.#lastNs;
    const passedNs = nowNs - lastNs;
    this.#lastNs = nowNs;
    let ranNs = 0;
    for (const thread of this.#threads.values()) ranNs += thread.ranNs();
    this.#ranNs += ranNs;
    // They may have had all CPUs but one without that the loop waited.
    const takenNs = Math.min(passedNs, ranNs - (this.#cpus - 1) * passedNs);
    if (takenNs > NOTABLE_SHARE * passedNs) {
      this.#taken.add({ fromNs: lastNs, untilNs: nowNs, takenNs });
    }
  }
}

/** Names of a process's threads; none when it has ended. */
function threadsOf(folder: string): string[] {
  try {
    return readdirSync(join(folder, 'task'));
  } catch (error) {
    void error;
    return [];
  }
}

/** How many CPUs a process may run on, of its `status`; 0 where it does not tell. */
function cpusIn(status: string): number {
  const mask = /^Cpus_allowed:\s*([0-9a-f,]+)$/m.exec(status)?.[1] ?? '';
  const digits = [...mask.replaceAll(',', '')].map((digit) => Number.parseInt(digit, 16));
  const bits = digits.map((digit) => digit.toString(2).replaceAll('0', '').length);
  return bits.reduce((sum, count) => sum + count, 0);
}

/** Looks until it is stopped, from when there is something to look at. */
export class V8ThreadsWatch {
  readonly #proc: string;
  readonly #nowNs: () => number;
  readonly #processes = new Map<number, WatchedProcess>();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor({ proc = '/proc', nowNs }: WatchedSystem = {}) {
    this.#proc = proc;
    this.#nowNs = nowNs ?? (() => Number(process.hrtime.bigint()));
  }

  /** Watches a process, and finds threads of it that have begun since it was last called. */
  find(pid: number): void {
    const folder = join(this.#proc, String(pid));
    const one = this.#processes.get(pid) ?? new WatchedProcess(folder, this.#nowNs());
    this.#processes.set(pid, one);
    one.find();
    if (one.isWatched && !this.#isStopped) this.#timer ??= this.#after(lookEveryMs(0));
  }

  /** Looks now. */
  look(): void {
    for (const one of this.#processes.values()) if (one.isWatched) one.look(this.#nowNs());
  }

  /** Of a process; null where its threads are not known or it has CPUs for all of them. */
  of(pid: number): V8ThreadsFacts | null {
    return this.#processes.get(pid)?.facts ?? null;
  }

  /** Looks for the last time. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.look();
  }

  /**
   * Looks, and tells what that cost at most. CPU time is of all threads of this process, and time
   * that passed also of those that had its CPU meanwhile: V8's, just when looks should be many.
   */
  #costMs(): number {
    const beganMs = performance.now();
    const began = process.cpuUsage();
    this.look();
    const { user, system } = process.cpuUsage(began);
    return Math.min(performance.now() - beganMs, (user + system) / 1000);
  }

  #after(ms: number): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#timer = this.#after(lookEveryMs(this.#costMs()));
    }, ms);
    return timer.unref();
  }
}

/** Finds V8's threads of all recorded processes. */
export function findV8Threads(folder: string, watch: V8ThreadsWatch): void {
  for (const { pid } of readRecordedProcesses(folder)) watch.find(pid);
}

/** Adds to every process file what V8's threads did. */
export function writeV8Threads(folder: string, watch: V8ThreadsWatch): void {
  for (const one of readRecordedProcesses(folder)) {
    rewriteProcessFile(folder, { ...one, v8Threads: watch.of(one.pid) });
  }
}
