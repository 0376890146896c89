/**
 * The time of the trace for JavaScript: ns since the recording started, on `CLOCK_MONOTONIC`.
 *
 * `performance.now()` is the cheapest reading of that clock in Node (about 40 ns, no BigInt), but
 * counts from an origin Node does not tell. The distance is constant, so it is found once, as the
 * intersection of many intervals between two readings of `process.hrtime.bigint()`.
 */

import { performance } from 'node:perf_hooks';

const SAMPLES = 64;

/** Reads the time of the trace, in ns. */
export type Clock = () => number;

/** The clock of a recording that started at `startNs` of `CLOCK_MONOTONIC`. */
export function clockSince(startNs: bigint): Clock {
  const source = performance;
  const read = source.now;
  const offsetNs = distanceNs(() => Reflect.apply(read, source, []), startNs);
  return () => read.call(source) * 1e6 + offsetNs;
}

function distanceNs(nowMs: () => number, startNs: bigint): number {
  let low = Number.NEGATIVE_INFINITY;
  let high = Number.POSITIVE_INFINITY;
  for (let i = 0; i < SAMPLES; i++) {
    const before = Number(process.hrtime.bigint() - startNs);
    const betweenNs = nowMs() * 1e6;
    const after = Number(process.hrtime.bigint() - startNs);
    low = Math.max(low, before - betweenNs);
    high = Math.min(high, after - betweenNs);
  }
  return Math.round((low + high) / 2);
}
