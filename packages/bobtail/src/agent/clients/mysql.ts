/**
 * MySQL (`mysql2` and `mysql`): commands wait in a queue of the connection, in JavaScript.
 *
 * Methods and not the tracing channels of mysql2: those exist in its newest versions only, and the
 * callback is the same argument in all of them.
 */

import { bindCallbacks } from './methods';

const CONNECTION = [
  'query',
  'execute',
  'prepare',
  'ping',
  'connect',
  'changeUser',
  'beginTransaction',
  'commit',
  'rollback',
];
const POOL = ['query', 'execute', 'getConnection'];

/** Patches the module of a connection class. */
export function patchConnection(exported: unknown): void {
  bindCallbacks(exported, CONNECTION);
}

/** Patches the module of a pool class. */
export function patchPool(exported: unknown): void {
  bindCallbacks(exported, POOL);
}
