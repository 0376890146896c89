/**
 * Runs a callback as a micro event of the event that handed it over: the primitive for queues in
 * user space, such as a database client that answers many callers on one socket.
 *
 * Nothing of this is visible to V8 or libuv, so the binding is done where the callback enters the
 * module (`clients/`).
 */

import { MicroKind } from './codes';
import { recorder } from './recorder';

// biome-ignore lint/suspicious/noExplicitAny: functions of others, of any shape
export type AnyFunction = (this: any, ...args: any[]) => any;

const CALLBACK: number = MicroKind.callback;
const EMITTER: number = MicroKind.emitter;

/** Calls `callback` as a micro event of `kind` registered by `registrar`, then resumes. */
export function runBound(
  registrar: number,
  kind: number,
  callback: AnyFunction,
  receiver: unknown,
  args: ArrayLike<unknown>,
): unknown {
  const { stream } = recorder;
  if (stream === undefined) return Reflect.apply(callback, receiver, args);
  stream.ensureLoopEvent();
  const outer = stream.currentEvent();
  stream.micro(kind, registrar);
  try {
    return Reflect.apply(callback, receiver, args);
  } finally {
    stream.resume(outer);
  }
}

/** `callback` bound to the event that is current now; itself while nothing is recorded. */
export function bind<F extends AnyFunction>(callback: F): F {
  const registrar = recorder.stream?.currentEvent() ?? 0;
  if (registrar === 0) return callback;
  const bound = function (this: unknown, ...args: unknown[]): unknown {
    return runBound(registrar, CALLBACK, callback, this, args);
  };
  Object.defineProperty(bound, 'name', { value: callback.name, configurable: true });
  Object.defineProperty(bound, 'length', { value: callback.length, configurable: true });
  return bound as F;
}

/** Binds what `emitter` emits from now on to the event that is current now. */
export function bindEmitter(emitter: { emit: AnyFunction }): void {
  const registrar = recorder.stream?.currentEvent() ?? 0;
  if (registrar === 0) return;
  const { emit } = emitter;
  const bound = function (this: unknown, ...args: unknown[]): unknown {
    return runBound(registrar, EMITTER, emit, this, args);
  };
  Object.defineProperty(emitter, 'emit', {
    value: bound,
    writable: true,
    enumerable: false,
    configurable: true,
  });
}
