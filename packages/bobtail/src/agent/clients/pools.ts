/**
 * Pools of resources with a callback style: `generic-pool` 2.
 *
 * Whoever waits for a resource goes on in the event that released it. Version 3 and `tarn` answer
 * by promises, which need no help.
 */

import { bindCallbacks } from './methods';

/** Patches `generic-pool/lib/generic-pool.js`; version 3 takes no callback there. */
export function patchGenericPool(exported: unknown): void {
  bindCallbacks((exported as { Pool?: unknown }).Pool, ['acquire']);
}
