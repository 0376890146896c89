/**
 * `AsyncResource.bind`: the public way in which libraries say "this callback belongs here".
 *
 * `runInAsyncScope` of other resources is left alone: who made the resource is only known to an
 * `async_hooks` hook, which costs more than the rest of the agent.
 */

import { AsyncResource } from 'node:async_hooks';
import { type AnyFunction, bind } from './bind';
import { replace } from './disguise';

/** Wraps the static and the instance method. */
export function followAsyncResources(): void {
  for (const target of [AsyncResource, AsyncResource.prototype]) {
    const original = target.bind as AnyFunction;
    // A method, because the original can not be constructed either.
    const wrapper = {
      bind(this: unknown, callback: AnyFunction): unknown {
        // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
        const args = [...arguments];
        if (typeof callback === 'function') args[0] = bind(callback);
        return Reflect.apply(original, this, args);
      },
    };
    replace(target, 'bind', wrapper.bind);
  }
}
