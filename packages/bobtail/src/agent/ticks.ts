/**
 * `process.nextTick` callbacks as micro events.
 *
 * The registrar travels as an argument to one shared runner instead of in a closure, because Node
 * itself queues several ticks per request.
 */

import { MicroKind } from './codes';
import { replace } from './disguise';
import { recorder } from './recorder';

type Callback = (...args: unknown[]) => void;
type Runner = (registrar: number, callback: Callback, ...args: unknown[]) => void;

const TICK: number = MicroKind.tick;

/** Wraps `process.nextTick`. */
export function wrapNextTick(): void {
  const original = process.nextTick as (callback: Runner, ...args: unknown[]) => void;

  function nextTick(this: unknown, callback: Callback, first: unknown, second: unknown): void {
    const { stream } = recorder;
    if (stream === undefined || typeof callback !== 'function') {
      // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
      Reflect.apply(original, this, arguments);
      return;
    }
    const registrar = stream.currentEvent();
    // biome-ignore lint/complexity/noArguments: a rest array would be one more allocation
    switch (arguments.length) {
      case 1:
        original(run, registrar, callback);
        return;
      case 2:
        original(runWithOne, registrar, callback, first);
        return;
      case 3:
        original(runWithTwo, registrar, callback, first, second);
        return;
      default:
        // biome-ignore lint/complexity/noArguments: see above
        original(runWithMany, registrar, ...arguments);
    }
  }
  replace(process, 'nextTick', nextTick);
}

// One runner for each number of arguments: a common one would need an array of them. The callback
// is called without a receiver, as Node does.

function run(registrar: number, callback: Callback): void {
  recorder.stream?.micro(TICK, registrar);
  callback();
}

function runWithOne(registrar: number, callback: Callback, first: unknown): void {
  recorder.stream?.micro(TICK, registrar);
  callback(first);
}

function runWithTwo(registrar: number, callback: Callback, first: unknown, second: unknown): void {
  recorder.stream?.micro(TICK, registrar);
  callback(first, second);
}

function runWithMany(registrar: number, callback: Callback, ...args: unknown[]): void {
  recorder.stream?.micro(TICK, registrar);
  callback(...args);
}
