/**
 * The promises of `timers/promises` as timers of their own.
 *
 * Node makes their Timeout inside, where nothing can be put on it. For the calls that can not fail
 * (no `signal`) the promise is made here from the wrapped timer, as Node makes it: one promise, one
 * Timeout. A reaction put on Node's promise would be a second promise, and come after the fact.
 */

import promisesModule = require('node:timers/promises');

import { replace } from './disguise';

type Callback = (value: unknown) => void;
/** A wrapped `setTimeout` or `setImmediate`. */
export type Create = (this: unknown, callback: Callback, ...args: unknown[]) => object;

/** What `scheduler` inherits from. */
interface Scheduler {
  wait(delay: unknown, options?: unknown): unknown;
  yield(): unknown;
}

// The application may replace the global later; Node's own does not follow it, either.
const NativePromise = Promise;

/** Wraps `setTimeout`, `setImmediate` and the scheduler on top of the wrapped timers. */
export function wrapTimerPromises(createTimeout: Create, createImmediate: Create): void {
  const timeout = promisesModule.setTimeout as (...args: unknown[]) => unknown;
  const immediate = promisesModule.setImmediate as (...args: unknown[]) => unknown;

  const sleep = (after: unknown, value: unknown): unknown =>
    new NativePromise((resolve) => {
      createTimeout(resolve, after, value);
    });
  const turn = (value: unknown): unknown =>
    new NativePromise((resolve) => {
      createImmediate(resolve, value);
    });

  // Parameters as Node has them: `length` shows.
  replace(
    promisesModule,
    'setTimeout',
    function setTimeout(this: unknown, after: unknown, value: unknown, options: unknown): unknown {
      if (options === undefined && isDelay(after)) return sleep(after, value);
      // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
      return Reflect.apply(timeout, this, arguments);
    },
  );
  replace(
    promisesModule,
    'setImmediate',
    function setImmediate(this: unknown, value: unknown, options: unknown): unknown {
      if (options === undefined) return turn(value);
      // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
      return Reflect.apply(immediate, this, arguments);
    },
  );
  wrapScheduler(sleep, turn);
}

function wrapScheduler(
  sleep: (after: unknown, value: unknown) => unknown,
  turn: (value: unknown) => unknown,
): void {
  const { scheduler } = promisesModule;
  const prototype = Object.getPrototypeOf(scheduler) as Scheduler;
  const original = { wait: prototype.wait, yield: prototype.yield };
  // Methods, because the originals can not be constructed either.
  const wrapper = {
    wait(this: unknown, delay: unknown, options: unknown): unknown {
      const plain = this === scheduler && options === undefined && isDelay(delay);
      if (plain) return sleep(delay, undefined);
      // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
      return Reflect.apply(original.wait, this, arguments);
    },
    yield(this: unknown): unknown {
      if (this === scheduler) return turn(undefined);
      // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
      return Reflect.apply(original.yield, this, arguments);
    },
  };
  replace(prototype, 'wait', wrapper.wait);
  replace(prototype, 'yield', wrapper.yield);
}

/** Whether Node accepts `after` as a delay; anything else is its error to make. */
function isDelay(after: unknown): boolean {
  return after === undefined || typeof after === 'number';
}
