/**
 * Reads from a group's `cpu.stat` how often it had to stop because its CPU quota was used up.
 *
 * Apart from agent and command line, because both read the same file: one at the start of a
 * process, the other until its end.
 */

import { readFileSync } from 'node:fs';

const NS_PER_US = 1000;

/** Counts since the group was made. */
export interface Throttling {
  /** Quota periods in which the group was stopped. */
  periods: number;
  throttledNs: number;
}

/** The counts in `file`; null when there is no such file, or a group without a quota controller. */
export function readThrottling(file: string): Throttling | null {
  let text: string;
  try {
    text = readFileSync(file, 'latin1');
  } catch (error) {
    // Groups come and go, and not every level has the file.
    void error;
    return null;
  }
  const fields = new Map(text.split('\n').map((line) => line.split(' ') as [string, string]));
  const number = (name: string): number | undefined =>
    fields.has(name) ? Number(fields.get(name)) : undefined;
  const periods = number('nr_throttled');
  // Version 1 counts nanoseconds, version 2 microseconds.
  const throttledNs =
    number('throttled_time') ?? (number('throttled_usec') ?? Number.NaN) * NS_PER_US;
  if (periods === undefined || !Number.isSafeInteger(throttledNs)) return null;
  return { periods, throttledNs };
}

/** The `cpu.stat` of a group, and its counts when a process told them. */
export type Counted = Throttling & { readonly file: string };

/**
 * What groups are stopped for from when a process told their counts.
 *
 * Looked at again and again: a group may be removed with its last process (a scope of systemd is),
 * and what is left then, the groups above it, would say that no quota was ever used up.
 */
export class ThrottlingWatch {
  readonly #since = new Map<string, Throttling>();

  /** Reads the counts of `groups` again; of one that is gone the last reading stays. */
  look(groups: readonly Counted[]): void {
    for (const before of groups) {
      const now = readThrottling(before.file);
      if (now === null) continue;
      this.#since.set(keyOf(before), {
        periods: Math.max(0, now.periods - before.periods),
        throttledNs: Math.max(0, now.throttledNs - before.throttledNs),
      });
    }
  }

  /** Of the group that was stopped longest; null unless the innermost, the first, was read. */
  longest(groups: readonly Counted[]): Throttling | null {
    const read = groups.map((one) => this.#since.get(keyOf(one)));
    if (read[0] === undefined) return null;
    return read
      .filter((one) => one !== undefined)
      .reduce((longest, one) => (one.throttledNs > longest.throttledNs ? one : longest));
  }
}

/** Processes of one group began at different times, so with different counts. */
function keyOf({ file, periods, throttledNs }: Counted): string {
  return `${file} ${periods} ${throttledNs}`;
}
