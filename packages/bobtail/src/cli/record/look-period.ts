/**
 * How often a watch looks at what the kernel tells of others: as often as is worth it, and no more
 * than looks may cost.
 *
 * A kernel with hundreds of CPUs takes a millisecond to write a file, which twenty times a second
 * would be a fiftieth of a CPU that may be the service's.
 */
const LOOK_MS = 50;
const LOOK_MS_MAX = 1000;
/** What looks may cost of one CPU. */
const SHARE_OF_TIME_MAX = 0.005;

/** Time between two looks, in milliseconds, that cost so many each. */
export function lookEveryMs(costMs: number): number {
  return Math.min(LOOK_MS_MAX, Math.max(LOOK_MS, costMs / SHARE_OF_TIME_MAX));
}
