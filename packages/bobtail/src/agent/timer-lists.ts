/**
 * Timers that Node or a library made inside, told apart from the application's.
 *
 * Node runs all timers of one delay as a list, and the lists one after the other, in one callback
 * of libuv. A Timeout made inside Node (of a socket, of `AbortSignal.timeout`) has no trampoline,
 * so it would run in the event of whatever timer ran before it, which would be blamed. The only
 * thing Node asks of a list before it runs one is its delay: an accessor there tells which timer is
 * first, and each timer that has run tells the next. A strange one gets a trampoline then, and so
 * an event `timers`, which is nobody's.
 */

import { LoopKind } from './codes';
import { recorder } from './recorder';
import { Stamped } from './stamp';
import { dueNs, type NodeTimeout } from './timer-base';

type Callback = (this: unknown, ...args: unknown[]) => void;

/** A list of Node; `_idlePrev` is its oldest timer, or itself when it is empty. */
interface TimersList {
  _idlePrev?: unknown;
  msecs?: unknown;
}

/** A timer in a list, whose newest one has the list as `_idlePrev`. */
interface ListedTimer extends NodeTimeout {
  _idlePrev?: unknown;
  _onTimeout?: unknown;
}

const TIMERS: number = LoopKind.timers;
let running: TimersList | undefined;
let isOwn: (timer: object) => boolean = () => true;

/** What a timer made inside Node calls. */
class Strange extends Stamped {
  #callback: Callback;

  constructor(timer: object, callback: Callback) {
    super(timer);
    this.#callback = callback;
  }

  static put(timer: ListedTimer, callback: Callback): void {
    if (#callback in timer) timer.#callback = callback;
    else new Strange(timer, callback);
    timer._onTimeout = onTimeout;
  }

  static callback(timer: object): Callback {
    return (timer as Strange).#callback;
  }
}

function onTimeout(this: ListedTimer, ...args: unknown[]): void {
  recorder.stream?.loopBegin(TIMERS, 0, dueNs(this), 0);
  Reflect.apply(Strange.callback(this), this, args);
  prepareNext();
}

/**
 * Starts to follow lists. `timer` was made just now, with a delay that no other timer has; `own`
 * tells the timers that have an event of their own. Throws when Node keeps timers some other way.
 */
export function followTimerLists(timer: ListedTimer, own: (timer: object) => boolean): void {
  const list = timer._idlePrev as TimersList | null | undefined;
  const prototype: unknown = list && Object.getPrototypeOf(list);
  if (typeof list?.msecs !== 'number' || list._idlePrev !== timer || !isClass(prototype)) {
    throw new Error('timers are not kept in lists of a known kind');
  }
  isOwn = own;
  const delays = new WeakMap<object, unknown>();
  Object.defineProperty(prototype, 'msecs', {
    configurable: true,
    get(this: TimersList): unknown {
      // Of an empty list it is asked when its last timer was cleared.
      if (this._idlePrev !== this) {
        running = this;
        prepareNext();
      }
      return delays.get(this);
    },
    set(this: TimersList, delay: unknown) {
      delays.set(this, delay);
    },
  });
}

/** A timer has run: a strange one that follows it in its list gets a trampoline. */
export function prepareNext(): void {
  if (running === undefined || recorder.stream === undefined) return;
  const next = running._idlePrev as ListedTimer;
  if (next === running || isOwn(next)) return;
  const callback = next._onTimeout;
  if (typeof callback === 'function' && callback !== onTimeout) {
    Strange.put(next, callback as Callback);
  }
}

function isClass(prototype: unknown): prototype is object {
  return typeof prototype === 'object' && prototype !== null && prototype !== Object.prototype;
}
