/**
 * `queueMicrotask` callbacks as micro events.
 *
 * A closure carries the registrar: the function takes no arguments for its callback, and Node
 * allocates an AsyncResource and a bound function per call anyway.
 */

import { MicroKind } from './codes';
import { replace } from './disguise';
import { recorder } from './recorder';

const MICROTASK: number = MicroKind.microtask;

/** Wraps the global `queueMicrotask`. */
export function wrapQueueMicrotask(): void {
  const original = globalThis.queueMicrotask;

  function queueMicrotask(this: unknown, callback: () => void): void {
    const { stream } = recorder;
    if (stream === undefined || typeof callback !== 'function') {
      // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
      Reflect.apply(original, this, arguments);
      return;
    }
    const registrar = stream.currentEvent();
    original.call(this, () => {
      stream.micro(MICROTASK, registrar);
      callback();
    });
  }
  replace(globalThis, 'queueMicrotask', queueMicrotask);
}
