/**
 * Names of timers as resources: `timer 20ms`, bounded in number.
 *
 * Programs with random delays (jitter, back-off) would fill the string table, so after the first
 * few hundred distinct delays a timer is named by its order of magnitude.
 */

import { nameId } from './names';

const EXACT_MAX = 256;
const byDelayMs = new Map<number, number>();
let immediate = 0;

/** Id of the resource of a timer whose `_idleTimeout` is `delay`, in ms. */
export function timerResource(delay: unknown): number {
  const delayMs = typeof delay === 'number' && delay >= 1 ? Math.trunc(delay) : 1;
  const known = byDelayMs.get(delayMs);
  if (known !== undefined) return known;
  if (byDelayMs.size >= EXACT_MAX) {
    return nameId(`timer >=${10 ** Math.floor(Math.log10(delayMs))}ms`);
  }
  const id = nameId(`timer ${delayMs}ms`);
  byDelayMs.set(delayMs, id);
  return id;
}

/** Id of the resource of every immediate. */
export function immediateResource(): number {
  if (immediate === 0) immediate = nameId('immediate');
  return immediate;
}
