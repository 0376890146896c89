/**
 * What a run leaves on disk while it lasts: its files, and what service and load printed.
 *
 * Output goes to files and not to pipes: a service that prints much must not wait for its reader.
 */
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryPlace } from '../cli/boost/memory-place';
import { lastWords } from './last-words';

/** Who prints in a run. */
export type Speaker = 'service' | 'load';

/** The folder of one run. */
export class RoundFolder {
  readonly path: string;
  /** Where the service tells what it does while it is asked. */
  readonly told: string;
  readonly #logs: Readonly<Record<Speaker, number>>;

  private constructor() {
    this.path = mkdtempSync(join(tmpdir(), 'bobtail-round-'));
    this.told = mkdtempSync(join(memoryPlace(), 'bobtail-round-'));
    this.#logs = { service: this.#open('service'), load: this.#open('load') };
  }

  /** What `use` answers of a new folder, which is removed then. */
  static async during<T>(use: (folder: RoundFolder) => Promise<T>): Promise<T> {
    const folder = new RoundFolder();
    try {
      return await use(folder);
    } finally {
      Object.values(folder.#logs).forEach((fd) => void closeSync(fd));
      for (const path of [folder.path, folder.told]) rmSync(path, { recursive: true, force: true });
    }
  }

  /** Where to print to. */
  output(who: Speaker): { readonly fd: number } {
    return { fd: this.#logs[who] };
  }

  /** Its last words, after a colon; empty if it said none. */
  said(who: Speaker): string {
    const words = lastWords(this.#log(who));
    return words === undefined ? '' : `: ${words}`;
  }

  #log(who: Speaker): string {
    return join(this.path, `${who}.log`);
  }

  #open(who: Speaker): number {
    return openSync(this.#log(who), 'w');
  }
}
