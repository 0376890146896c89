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

const TICK: number = MicroKind.tick;

/** Wraps `process.nextTick`. */
export function wrapNextTick(): void {
  const original = process.nextTick as (callback: Callback, ...args: unknown[]) => void;

  function nextTick(this: unknown, callback: Callback): void {
    const { stream } = recorder;
    // biome-ignore lint/complexity/noArguments: a rest array would be one more allocation
    const args = arguments;
    if (stream === undefined || typeof callback !== 'function') {
      Reflect.apply(original, this, args);
      return;
    }
    const registrar = stream.currentEvent();
    switch (args.length) {
      case 1:
        original.call(this, run, registrar, callback);
        return;
      case 2:
        original.call(this, run, registrar, callback, args[1]);
        return;
      case 3:
        original.call(this, run, registrar, callback, args[1], args[2]);
        return;
      default:
        original.call(this, run, registrar, ...args);
    }
  }
  replace(process, 'nextTick', nextTick);
}

function run(registrar: unknown, callback: unknown, first: unknown, second: unknown): void {
  recorder.stream?.micro(TICK, registrar as number);
  // Called without a receiver, as Node does.
  const plain = callback as Callback;
  // biome-ignore lint/complexity/noArguments: see above
  const args = arguments;
  switch (args.length) {
    case 2:
      plain();
      return;
    case 3:
      plain(first);
      return;
    case 4:
      plain(first, second);
      return;
    default:
      plain(...Array.prototype.slice.call(args, 2));
  }
}
