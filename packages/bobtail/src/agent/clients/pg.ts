/**
 * PostgreSQL (`pg`, `pg-pool`, `pg-cursor`): queries wait in a queue of the client, in JavaScript.
 *
 * Besides callbacks a query may be an object that is given in (a "submittable") and answers by its
 * own callback and events; those are bound on the object, which serves one query only.
 */

import { type AnyFunction, bind, bindEmitter } from '../bind';
import { replace } from '../disguise';
import { recorder } from '../recorder';
import { bindCallbacks } from './methods';

interface Submittable {
  submit?: unknown;
  callback?: unknown;
  emit?: unknown;
  pipe?: unknown;
}

/** Patches `pg/lib/client.js`. */
export function patchClient(exported: unknown): void {
  bindSubmittables((exported as { prototype: object }).prototype);
  bindCallbacks(exported, ['query', 'connect']);
}

/** Patches `pg-pool/index.js`. */
export function patchPool(exported: unknown): void {
  bindCallbacks(exported, ['query', 'connect']);
}

/** Patches `pg-cursor/index.js`. */
export function patchCursor(exported: unknown): void {
  bindCallbacks(exported, ['read', 'close']);
}

function bindSubmittables(prototype: object): void {
  const original = Reflect.get(prototype, 'query') as AnyFunction;
  function query(this: unknown, first: Submittable | undefined): unknown {
    if (recorder.stream !== undefined && typeof first?.submit === 'function') bindQuery(first);
    // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
    return Reflect.apply(original, this, arguments);
  }
  replace(prototype, 'query', query);
}

function bindQuery(query: Submittable): void {
  if (typeof query.callback === 'function') query.callback = bind(query.callback as AnyFunction);
  // A stream emits from its own ticks, which are followed already.
  if (typeof query.emit === 'function' && typeof query.pipe !== 'function') {
    bindEmitter(query as { emit: AnyFunction });
  }
}
