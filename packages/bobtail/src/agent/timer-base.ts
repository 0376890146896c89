/**
 * When a Timeout of Node is due, as a time of the trace.
 *
 * Node counts in whole ms of the loop's cached time since an origin it does not tell. The cached
 * time is never ahead of the clock, so the smallest distance ever seen between the clock, cut to
 * ms, and a fresh `_idleStart` is that origin; it is exact after a few timers.
 */

/** What Node keeps on a Timeout, in ms of its own timer clock. */
export interface NodeTimeout {
  _idleStart?: unknown;
  _idleTimeout?: unknown;
}

const NS_PER_MS = 1e6;
let originMs = Number.POSITIVE_INFINITY;
let phaseNs = 0;

/** Tells where the ms boundaries of `CLOCK_MONOTONIC` lie in the time of the trace. */
export function startTimerBase(startNs: bigint): void {
  phaseNs = Number(startNs % BigInt(NS_PER_MS));
  originMs = Number.POSITIVE_INFINITY;
}

/** Learns from a timer that was created just now, at `atNs` of the trace. */
export function learnTimerBase(timer: NodeTimeout, atNs: number): void {
  if (typeof timer._idleStart !== 'number') return;
  const distance = Math.floor((atNs + phaseNs) / NS_PER_MS) - timer._idleStart;
  if (distance < originMs) originMs = distance;
}

/** Due time of `timer` in ns of the trace, below 0 when unknown. */
export function dueNs(timer: NodeTimeout): number {
  const { _idleStart: start, _idleTimeout: timeout } = timer;
  if (typeof start !== 'number' || typeof timeout !== 'number') return -1;
  if (originMs === Number.POSITIVE_INFINITY) return -1;
  return Math.max(0, (originMs + start + Math.trunc(timeout)) * NS_PER_MS - phaseNs);
}
