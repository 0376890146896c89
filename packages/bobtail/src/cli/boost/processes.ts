/**
 * What the processes of a service tell, with those of it that have ended.
 *
 * A worker that ends leaves files of 40 KB behind, in memory and to be read once a second. A
 * service runs for weeks and may lose a worker each minute, so they are taken in and removed. At
 * the end of a service all of them end: that says nothing of any, and who reads last finds them.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { FILES, pidNamespace } from '../../agent/boost/told';
import { isAlive } from '../alive';
import { sumOf } from './counters';
import {
  type DriverFile,
  type Driving,
  type Refused,
  readDriver,
  readDriverFiles,
} from './driver-file';
import { added, type Counted, countsIn, NOTHING, readLatencies } from './latencies';

/** What is told at one moment. */
export interface Told {
  /** Of processes whose files are there. */
  readonly files: readonly DriverFile[];
  /** Of those that ended before them, as few as there are levers and reasons. */
  readonly past: readonly DriverFile[];
  /** Of all requests so far. */
  readonly counted: Counted;
}

/** The processes of one folder. */
export class Processes {
  readonly #folder: string;
  readonly #namespace = pidNamespace();
  #past: readonly DriverFile[] = [];
  #counted: Counted = NOTHING;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** What they tell now. */
  read(): Told {
    const files = readDriverFiles(this.#folder);
    const counted = added(this.#counted, readLatencies(this.#folder));
    return { files, past: this.#past, counted };
  }

  /** Takes in those of them, as they told last, that have ended while others go on. */
  takeIn(files: readonly DriverFile[]): void {
    const ended = files.filter((file) => this.#hasEnded(file));
    if (ended.length === files.length) return;
    for (const { key } of ended) this.#takeIn(key);
  }

  /** Of a number in another namespace nobody here can tell. */
  #hasEnded({ pid, namespace }: DriverFile): boolean {
    return namespace !== '' && namespace === this.#namespace && !isAlive(pid);
  }

  #takeIn(key: string): void {
    this.#counted = added(this.#counted, countsIn(join(this.#folder, FILES.latencies(key))));
    // It may have done more since it was read.
    this.#past = withEnded(this.#past, readDriver(this.#folder, key));
    for (const nameOf of Object.values(FILES)) {
      rmSync(join(this.#folder, nameOf(key)), { force: true });
    }
  }
}

/** One more of those that ended, put together with its like. */
export function withEnded(past: readonly DriverFile[], file: DriverFile): DriverFile[] {
  const isLike = (one: DriverFile): boolean => likenessOf(one) === likenessOf(file);
  const like = past.find(isLike);
  const others = past.filter((one) => one !== like);
  // Who ended has no lever to lack.
  const ended = 'hold' in file ? { ...file, hold: { ...file.hold, isLost: false } } : file;
  return [...others, like === undefined ? ended : together(like, ended)];
}

function likenessOf(file: DriverFile): string {
  const what = 'driven' in file ? file.driven : file.refused;
  return JSON.stringify([what, file.missing]);
}

function together(one: DriverFile, other: DriverFile): DriverFile {
  const processes = (one.processes ?? 1) + (other.processes ?? 1);
  if (!('driven' in one) || !('driven' in other)) return { ...one, processes } as Refused;
  const driving: Driving = {
    ...one,
    processes,
    ranNs: Math.max(one.ranNs, other.ranNs),
    drivenNs: (one.drivenNs ?? one.ranNs) + (other.drivenNs ?? other.ranNs),
    counters: sumOf(one.counters, other.counters),
    hold: { lost: one.hold.lost ?? other.hold.lost, isLost: false },
  };
  return driving;
}
