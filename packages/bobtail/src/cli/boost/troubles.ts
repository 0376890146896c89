/**
 * Tells, once and when it happens, that a process is not boosted or no longer.
 *
 * A service runs for weeks: what stands in a summary at its end is read too late, and what it
 * writes to its own output cannot be told from Bobtail's.
 */
import type { DriverFile } from './driver-file';
import type { Silence } from './summary';

/** What was told. Many workers of a service may have the same reason. */
export class Troubles {
  readonly #tell: (line: string) => void;
  readonly #refusals = new Set<string>();
  readonly #lost = new Map<number, string>();

  constructor(tell: (line: string) => void) {
    this.#tell = tell;
  }

  /** Looks at what the processes of the service tell now. */
  see(files: readonly DriverFile[], silence?: Silence): void {
    // Who has ended has lost nothing any more.
    const here = new Set(files.map(({ pid }) => pid));
    for (const pid of this.#lost.keys()) if (!here.has(pid)) this.#lost.delete(pid);
    if (silence !== undefined) this.#seeRefusal(silence.pid, silence.why);
    for (const file of files) {
      if ('refused' in file) this.#seeRefusal(file.pid, file.refused);
      else if (file.hold.isLost && file.hold.lost !== null) this.#seeLoss(file.pid, file.hold.lost);
      else this.#seeHold(file.pid);
    }
  }

  #seeRefusal(pid: number, why: string): void {
    if (this.#refusals.has(why)) return;
    this.#refusals.add(why);
    this.#tell(`bobtail: process ${pid} is not boosted: ${why}`);
  }

  #seeLoss(pid: number, why: string): void {
    if (this.#lost.has(pid)) return;
    const isKnown = [...this.#lost.values()].includes(why);
    this.#lost.set(pid, why);
    if (!isKnown) this.#tell(`bobtail: process ${pid} is not boosted from now on: ${why}`);
  }

  #seeHold(pid: number): void {
    if (this.#lost.delete(pid)) this.#tell(`bobtail: process ${pid} is boosted again`);
  }
}
