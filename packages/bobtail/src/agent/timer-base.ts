/**
 * When a Timeout of Node is due, as a time of the trace.
 *
 * Node counts in whole ms of the time that the loop keeps, since an origin it does not tell: what
 * the loop kept when the environment was made (`Environment::timer_base`). Making a Timeout brings
 * the kept time up to date (`Environment::GetNow`), so both together tell the origin. A look at the
 * clock does not: it may fall into the next ms.
 */

/** What Node keeps on a Timeout, in ms of its own timer clock. */
export interface NodeTimeout {
  _idleStart?: unknown;
  _idleTimeout?: unknown;
}

const NS_PER_MS = 1e6;
/** The origin in ms after the ms in which the trace starts, where it is known. */
let originMs: number | undefined;
/** How far into a ms of `CLOCK_MONOTONIC` the trace starts. */
let phaseNs = 0;

/**
 * Learns from a `timer` made in this turn, in which the loop keeps `loopNowMs`, of a trace that
 * starts at `startNs`. Throws when Node keeps timers some other way.
 */
export function startTimerBase(startNs: bigint, timer: NodeTimeout, loopNowMs: number): void {
  originMs = undefined;
  phaseNs = Number(startNs % BigInt(NS_PER_MS));
  if (typeof timer._idleStart !== 'number') throw new Error('timers do not tell when they start');
  originMs = loopNowMs - timer._idleStart - Number(startNs / BigInt(NS_PER_MS));
}

/** Due time of `timer` in ns of the trace, below 0 when unknown. */
export function dueNs(timer: NodeTimeout): number {
  const { _idleStart: start, _idleTimeout: timeout } = timer;
  if (typeof start !== 'number' || typeof timeout !== 'number') return -1;
  if (originMs === undefined) return -1;
  return Math.max(0, (originMs + start + Math.trunc(timeout)) * NS_PER_MS - phaseNs);
}
