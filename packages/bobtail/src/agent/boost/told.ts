/**
 * What a boosted process leaves in the folder of its boost, for both sides.
 *
 * Of the agent, so that a service loads nothing of the command line for it.
 */
import { readlinkSync } from 'node:fs';

/** Of a process's own files: who it is, what its driver did, and how long its requests took. */
export const FILES = {
  driver: (key: string): string => `driver-${key}.json`,
  counters: (key: string): string => `counters-${key}`,
  latencies: (key: string): string => `latencies-${key}`,
  /** Empty: all that a full disk has room for. */
  untold: (key: string): string => `untold-${key}`,
};

/** Where the number of this process is its own; empty where that is not known. */
export function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    // No procfs: it cannot be told then who has ended.
    return '';
  }
}
