/**
 * Promise reactions as micro events: who registered them and when they run.
 *
 * `v8.promiseHooks` and not `async_hooks`: two tiny bodies, about a quarter of the cost, and the
 * application's AsyncLocalStorage works unchanged on every version.
 */

import { whileRecording } from './bursts';
import { MicroKind } from './codes';
import { promiseHookPart } from './promise-hooks';
import type { Stream } from './recorder';
import { Stamped } from './stamp';

const PROMISE: number = MicroKind.promise;

/** Starts to follow promises. */
export function followPromises(stream: Stream): void {
  const { currentEvent, micro } = stream;

  class PromiseStamp extends Stamped {
    readonly #registrar = currentEvent();

    static registrar(promise: object): number {
      return #registrar in promise ? promise.#registrar : 0;
    }
  }

  const hooks = {
    init(promise: Promise<unknown>) {
      new PromiseStamp(promise);
    },
    before(promise: Promise<unknown>) {
      micro(PROMISE, PromiseStamp.registrar(promise));
    },
  };
  whileRecording(promiseHookPart(hooks));
}
