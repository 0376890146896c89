/**
 * The numbers of the trace format that JavaScript writes (`spec/trace-format.md`).
 *
 * Plain constants and not enums, so that the hot modules can copy them into constants of their own,
 * which V8 folds into the machine code.
 */

/** Byte offset of the live block in the header page. */
export const LIVE_OFFSET_BYTES = 1024;
/** Length of the live block in 4-byte words. */
export const LIVE_WORDS = 32;
/** Word of the live block at which the f64 `last_ns` starts. */
export const LIVE_LAST_NS = 8;

/** What dispatched a loop event. */
export const LoopKind = {
  timer: 5,
  immediate: 6,
  child: 8,
  other: 12,
  timers: 14,
} as const;

/** What queued a micro event. */
export const MicroKind = {
  promise: 1,
  tick: 2,
  microtask: 3,
  callback: 4,
  agent: 5,
  emitter: 6,
} as const;

/** What JavaScript opens handles for. */
export const HandleKind = { port: 9 } as const;

/** Moments of the run that JavaScript marks. */
export const MarkKind = { listening: 1, paused: 3 } as const;
