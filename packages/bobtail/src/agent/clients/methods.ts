/**
 * Wraps methods of a client so that the callback they are given stays with its caller.
 *
 * The last function among the arguments is the callback in every client of the table; a method
 * that is called without one (promise style) is passed on untouched.
 */

import { type AnyFunction, bind } from '../bind';
import { replace } from '../disguise';
import { recorder } from '../recorder';

/** Methods wrapped already: a subclass in another file of the table finds them by inheritance. */
const wrapped = new WeakSet<AnyFunction>();

/** Binds the callback of `owner.prototype[name]` for each name that exists. */
export function bindCallbacks(owner: unknown, names: readonly string[]): void {
  const prototype = (owner as { prototype?: object } | undefined)?.prototype;
  if (prototype === undefined) return;
  for (const name of names) {
    const original = Reflect.get(prototype, name) as AnyFunction;
    if (typeof original !== 'function' || wrapped.has(original)) continue;
    const wrapper = binding(original);
    wrapped.add(wrapper);
    replace(prototype, name, wrapper);
  }
}

function binding(original: AnyFunction): AnyFunction {
  return function (this: unknown, ...args: unknown[]): unknown {
    if (recorder.stream !== undefined) {
      const at = args.findLastIndex((argument) => typeof argument === 'function');
      if (at >= 0) args[at] = bind(args[at] as AnyFunction);
    }
    return Reflect.apply(original, this, args);
  };
}
