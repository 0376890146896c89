/**
 * Timers and immediates of the application as loop events of their own.
 *
 * libuv runs all due timers in one callback, so only JavaScript can tell them apart. Node gets one
 * shared trampoline as the callback; the real one lies on the Timeout in a private field, so that
 * `unref`, `refresh`, `close`, clearing by number and the async context stay Node's own.
 */

import timersModule = require('node:timers');

import { LoopKind } from './codes';
import { replace } from './disguise';
import { recorder, type Stream } from './recorder';
import { Stamped } from './stamp';
import { dueNs, type NodeTimeout, startTimerBase } from './timer-base';
import { followTimerLists, prepareNext } from './timer-lists';
import { immediateResource, timerResource } from './timer-names';
import { type Create, wrapTimerPromises } from './timer-promises';

type Callback = (this: unknown, ...args: unknown[]) => void;
/** A delay that no other timer has, so that its list is found. */
const RARE_DELAY_MS = 1_912_345_678;
const TIMER: number = LoopKind.timer;
const IMMEDIATE: number = LoopKind.immediate;

class TimerStamp extends Stamped {
  #callback: Callback;
  #op = 0;
  #registrar = 0;

  constructor(timer: object, callback: Callback) {
    super(timer);
    this.#callback = callback;
  }

  static callback(timer: object): Callback {
    return (timer as TimerStamp).#callback;
  }

  static register(timer: NodeTimeout, stream: Stream, kind: number): void {
    const stamp = timer as unknown as TimerStamp;
    stamp.#registrar = stream.currentEvent();
    if (kind === IMMEDIATE) {
      stamp.#op = stream.register(kind, immediateResource(), stream.nowNs(), -1);
    } else {
      const atNs = stream.nowNs();
      stamp.#op = stream.register(kind, timerResource(timer._idleTimeout), atNs, dueNs(timer));
    }
  }

  /** Its next run was not registered. */
  static forget(timer: object): void {
    (timer as TimerStamp).#op = 0;
  }

  static begin(timer: object, stream: Stream, kind: number, readyNs: number): void {
    const stamp = timer as unknown as TimerStamp;
    stream.loopBegin(kind, stamp.#op, readyNs, stamp.#registrar);
    // When it fires again (an interval, `refresh`), this run has armed it, and whether it still
    // works for its request is not known here.
    stamp.#registrar = 0;
  }

  static knows(timer: object): boolean {
    return #op in timer;
  }
}

/** Learns the origin of Node's timer clock from a timer that never fires. */
export function startTimers(stream: Stream, startNs: bigint): void {
  const timer = timersModule.setTimeout(() => undefined, 1);
  startTimerBase(startNs, timer as NodeTimeout, stream.loopNowMs());
  timersModule.clearTimeout(timer);
}

/** Starts to tell the timers made inside Node from those of the application. */
export function startTimerLists(): void {
  const timer = timersModule.setTimeout(() => undefined, RARE_DELAY_MS);
  try {
    followTimerLists(timer as NodeTimeout, TimerStamp.knows);
  } finally {
    timersModule.clearTimeout(timer);
  }
}

function onTimeout(this: NodeTimeout, ...args: unknown[]): void {
  const { stream } = recorder;
  if (stream !== undefined) TimerStamp.begin(this, stream, TIMER, dueNs(this));
  else TimerStamp.forget(this);
  Reflect.apply(TimerStamp.callback(this), this, args);
  prepareNext();
}

function onImmediate(this: object, ...args: unknown[]): void {
  const { stream } = recorder;
  if (stream !== undefined) TimerStamp.begin(this, stream, IMMEDIATE, -1);
  Reflect.apply(TimerStamp.callback(this), this, args);
}

/** Wraps the globals and the exports of `timers`, which are the same functions. */
export function wrapTimers(): void {
  const createTimeout = wrapCreate('setTimeout', onTimeout as Callback, TIMER);
  wrapCreate('setInterval', onTimeout as Callback, TIMER);
  const createImmediate = wrapCreate('setImmediate', onImmediate as Callback, IMMEDIATE);
  wrapTimerPromises(createTimeout, createImmediate);
}

function wrapCreate(
  name: 'setTimeout' | 'setInterval' | 'setImmediate',
  trampoline: Callback,
  kind: number,
): Create {
  const original = timersModule[name] as unknown as (...args: unknown[]) => object;

  function create(this: unknown, callback: Callback, after: unknown): object {
    // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
    const args = arguments;
    if (typeof callback !== 'function') return Reflect.apply(original, this, args);
    let timer: object;
    if (args.length === 1) timer = original.call(this, trampoline);
    else if (args.length === 2) timer = original.call(this, trampoline, after);
    else timer = original.call(this, trampoline, ...Array.prototype.slice.call(args, 1));
    new TimerStamp(timer, callback);
    // A timer made before the recording has no operation, but its events are told apart too.
    if (recorder.stream !== undefined) TimerStamp.register(timer, recorder.stream, kind);
    return timer;
  }
  if (globalThis[name] === (original as unknown)) replace(globalThis, name, create);
  replace(timersModule, name, create);
  return create as Create;
}
