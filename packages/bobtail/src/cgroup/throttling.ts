/**
 * Reads from a group's `cpu.stat` how often it had to stop because its CPU quota was used up.
 *
 * Apart from agent and command line, because both read the same file: one at the start of a
 * process, the other after its end.
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

/** What was counted between two readings of the same files: of the group that stopped longest. */
export function throttlingSince(
  before: readonly (Throttling & { file: string })[],
): Throttling | null {
  let longest: Throttling | null = null;
  for (const { file, periods, throttledNs } of before) {
    const now = readThrottling(file);
    if (now === null) continue;
    const since = {
      periods: Math.max(0, now.periods - periods),
      throttledNs: Math.max(0, now.throttledNs - throttledNs),
    };
    if (longest === null || since.throttledNs > longest.throttledNs) longest = since;
  }
  return longest;
}
