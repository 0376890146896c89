/**
 * Koa: remembers the context of a response, on which routers leave the route they matched.
 *
 * Not a client, but the same table serves it: the raw response has no way back to the context.
 */

import type { AnyFunction } from '../bind';
import { replace } from '../disguise';
import { Exchange } from '../exchange';
import { routeText } from '../route';

interface KoaContext {
  res: object;
  _matchedRoute?: unknown;
  routerPath?: unknown;
}

/** Patches `koa/lib/application.js`. */
export function patchKoa(exported: unknown): void {
  const prototype = (exported as { prototype: object }).prototype;
  const original = Reflect.get(prototype, 'createContext') as AnyFunction;
  if (typeof original !== 'function') return;
  function createContext(this: unknown): unknown {
    // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
    const context = Reflect.apply(original, this, arguments) as KoaContext;
    Exchange.routeBy(context.res, () => {
      const route = context._matchedRoute;
      return route === undefined || route === null ? undefined : routeText(route);
    });
    return context;
  }
  replace(prototype, 'createContext', createContext);
}
