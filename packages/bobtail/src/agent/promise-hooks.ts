/**
 * Sets the recording's hooks on promises beside those of AsyncLocalStorage and of others.
 *
 * Not as hooks of their own: Node calls several through a function that copies its list each time,
 * and Node 20 ends the process when the stack overflows in one of several (as it does in recursion
 * of async functions), but not in a single one. So the first hook of others and ours are one to
 * Node. Node itself, for AsyncLocalStorage, sets its hooks through `createHook` as wrapped here.
 */

import { createHook } from 'node:async_hooks';
import { promiseHooks } from 'node:v8';
import type { Part } from './bursts';
import { replace } from './disguise';

/** Is called with a promise; `init` also with the one it derives from. */
type Hook = (promise: Promise<unknown>, parent?: Promise<unknown>) => void;
type Stop = () => void;

/** The hooks of the recording. They throw for nothing but lack of stack. */
export interface Hooks {
  init: Hook;
  before: Hook;
}

/** What is passed to `createHook`; each is optional. */
type OthersHooks = Partial<Hooks & { after: Hook; settled: Hook }>;

/** Node's own; they throw for what is no hook. */
const nodes = { ...promiseHooks } as unknown as {
  createHook(hooks?: OthersHooks | null): Stop;
  onInit(hook: Hook): Stop;
  onBefore(hook: Hook): Stop;
};

/** All hooks of one kind: those of others in their order, and ours while recording. */
class Kind {
  readonly #set: (hook: Hook) => Stop;
  readonly #join: (ours: Hook, first: Hook) => Hook;
  readonly #others: { hook: Hook; stop: Stop }[] = [];
  #ours: Hook | undefined;
  #stopOurs: Stop | undefined;
  /** The last one made, since AsyncLocalStorage comes and goes with the same hook. */
  #joined: { first: Hook; both: Hook } | undefined;

  /** `set` is Node's function of this kind; `join` makes one hook of ours and the first other. */
  constructor(set: (hook: Hook) => Stop, join: (ours: Hook, first: Hook) => Hook) {
    this.#set = set;
    this.#join = join;
  }

  /** Sets a hook of others; throws what Node throws. */
  add(hook: Hook): Stop {
    const other = { hook, stop: this.#set(hook) };
    this.#others.push(other);
    if (this.#ours !== undefined && this.#others.length === 1) this.#arrange();
    return () => {
      const at = this.#others.indexOf(other);
      if (at < 0) return;
      this.#others.splice(at, 1);
      other.stop();
      if (this.#ours !== undefined && at === 0) this.#arrange();
    };
  }

  start(ours: Hook): void {
    this.#ours = ours;
    this.#joined = undefined;
    this.#arrange();
  }

  end(): void {
    this.#ours = undefined;
    this.#arrange();
  }

  /** Sets all anew. Nothing is missed: no promise is made or run meanwhile. */
  #arrange(): void {
    this.#stopOurs?.();
    this.#stopOurs = undefined;
    for (const other of this.#others) other.stop();
    const ours = this.#ours;
    if (ours !== undefined && this.#others.length === 0) this.#stopOurs = this.#set(ours);
    for (const [at, other] of this.#others.entries()) {
      const isBoth = ours !== undefined && at === 0;
      other.stop = this.#set(isBoth ? this.#both(ours, other.hook) : other.hook);
    }
  }

  #both(ours: Hook, first: Hook): Hook {
    if (this.#joined?.first !== first) this.#joined = { first, both: this.#join(ours, first) };
    return this.#joined.both;
  }
}

// Theirs first: where the stack is too short for both, only the recording lacks something.
const inits = new Kind(nodes.onInit, (ours, first) => (promise, parent) => {
  first(promise, parent);
  ours(promise);
});
// Ours first: the event has begun when others work in it. Theirs in any case: who counts what began
// would otherwise miss one that ends.
const befores = new Kind(nodes.onBefore, (ours, first) => (promise) => {
  try {
    ours(promise);
  } finally {
    first(promise);
  }
});

/** Wraps the functions that set hooks. At preload, before anybody holds one of them. */
export function wrapPromiseHooks(): void {
  replace(promiseHooks, 'onInit', (hook: Hook) => inits.add(hook));
  replace(promiseHooks, 'onBefore', (hook: Hook) => befores.add(hook));
  // biome-ignore lint/complexity/useArrowFunction: it has a prototype, as Node's has
  replace(promiseHooks, 'createHook', function (hooks?: OthersHooks | null) {
    // Node throws for null.
    if (hooks === undefined || hooks === null) return nodes.createHook(hooks);
    const { init, before, after, settled } = hooks;
    const stops: Stop[] = [];
    if (init) stops.push(inits.add(init));
    if (before) stops.push(befores.add(before));
    stops.push(nodes.createHook({ after, settled } as OthersHooks));
    return () => {
      for (const stop of stops) stop();
    };
  });
  adoptEarlier();
}

/**
 * Has Node set anew what was set for an AsyncLocalStorage before this was loaded: modules of
 * `NODE_OPTIONS` may come first. Node then marks promises with symbols.
 */
function adoptEarlier(): void {
  if (Object.getOwnPropertySymbols(Promise.resolve()).length === 0) return;
  createHook({ init: () => undefined })
    .enable()
    .disable();
}

/** The hooks as a part of the recording. */
export function promiseHookPart({ init, before }: Hooks): Part {
  return {
    on() {
      inits.start(init);
      befores.start(before);
    },
    off() {
      befores.end();
      inits.end();
    },
  };
}
