/**
 * The byte encoder: writes records straight into the ring that the native probe has mapped.
 *
 * Native code writes the same stream on the same thread, so all state lives in the shared live
 * block and none in JavaScript. The buffers are module constants (see `session.ts`) and every
 * function works on small integers: no allocation, no BigInt, no closure on the way of a promise.
 */

import { clockSince } from './clock';
import {
  HandleKind,
  LIVE_LAST_NS,
  LIVE_OFFSET_BYTES,
  LIVE_WORDS,
  LoopKind,
  MarkKind,
} from './codes';
import { takeSession } from './session';

const session = takeSession();
const live = new Uint32Array(session.live, LIVE_OFFSET_BYTES, LIVE_WORDS);
const last = new Float64Array(session.live, LIVE_OFFSET_BYTES + 4 * LIVE_LAST_NS, 1);
const ring = new Uint8Array(session.ring);
const contexts = new Uint32Array(session.context);
const nativeFlush = session.flush;
/** Asks for the next chunk; the probe counts the record that finds none. */
const roll = session.roll;

/** The time that the loop keeps now, in ms of `CLOCK_MONOTONIC`. */
export const loopNowMs = session.loopNow;

/** Time of the trace, in ns since its start. */
export const nowNs = clockSince(session.startNs);

// Words of the live block.
const POSITION = 0;
const LIMIT = 1;
const EVENT = 2;
const CURRENT = 3;
const LOOP_EVENT = 4;
const CONTEXT = 5;
const REQUEST = 7;
const OP = 11;
const HANDLE = 12;
const PAUSED = 13;
const BUSY = 14;
const DEFERRED = 15;

// Tags and flags.
const LOOP_BEGIN = 1;
const MICRO = 3;
const RESUME = 4;
const REGISTER = 6;
const WRITE = 7;
const HANDLE_OPEN = 8;
const SOURCE = 10;
const SINK = 11;
const MARK = 14;
/** As in the probe (`writer.rs`): a number above could not be told from none. */
const LAST_EVENT = 0xfffffffd;
const FLAG_LOW = 64;
const FLAG_HIGH = 128;

const CONTEXT_MASK = 0xffff;
const OTHER: number = LoopKind.other;
const PORT: number = HandleKind.port;
const MARK_PAUSED: number = MarkKind.paused;

/** Event that registrations are charged to now; 0 outside events. */
export function currentEvent(): number {
  return live[CURRENT]!;
}

/** Loop event that is open now; 0 when none. */
export function loopEvent(): number {
  return live[LOOP_EVENT]!;
}

/** Number of the last event given out. */
export function lastEvent(): number {
  return live[EVENT]!;
}

/** The numbers of events end: nothing more can be recorded. Native code does the same. */
function stopNumbering(): void {
  mark(MARK_PAUSED, 0);
  live[PAUSED] = 1;
}

/** Opens a loop event of kind `other` when code runs outside any, so that it has an owner. */
export function ensureLoopEvent(): void {
  if (live[LOOP_EVENT] === 0) loopBegin(OTHER, 0, -1, 0);
}

/**
 * A micro event begins. Its time is only written when the request changes (or is unknown), since
 * a run without a time belongs to the run before it.
 */
export function micro(kind: number, registrar: number): void {
  if (live[PAUSED] !== 0) return;
  if (live[LOOP_EVENT] === 0) loopBegin(OTHER, 0, -1, 0);
  if (live[EVENT]! >= LAST_EVENT) {
    stopNumbering();
    return;
  }
  live[BUSY] = 1;
  const room = live[POSITION]! <= live[LIMIT]! || roll();
  const event = (live[EVENT]! + 1) >>> 0;
  const request = registrar === 0 ? 0 : contexts[registrar & CONTEXT_MASK]!;
  live[EVENT] = event;
  live[CURRENT] = event;
  contexts[event & CONTEXT_MASK] = request;
  if (!room) {
    free();
    return;
  }
  let at = live[POSITION]!;
  if (registrar !== 0 && request === live[CONTEXT]) {
    ring[at] = MICRO | FLAG_HIGH;
    ring[at + 1] = kind;
    at += 2;
  } else {
    live[CONTEXT] = request;
    ring[at] = registrar === 0 ? MICRO | FLAG_LOW : MICRO | FLAG_LOW | FLAG_HIGH;
    ring[at + 1] = kind;
    at = time(at + 2, nowNs());
  }
  if (registrar !== 0) at = varint(at, event - registrar);
  commit(at);
}

/** `event` goes on after something nested in it returned. */
export function resume(event: number): void {
  if (live[PAUSED] !== 0) return;
  live[BUSY] = 1;
  const room = live[POSITION]! <= live[LIMIT]! || roll();
  live[CURRENT] = event;
  const request = event === 0 ? 0 : contexts[event & CONTEXT_MASK]!;
  const timed = request !== live[CONTEXT];
  live[CONTEXT] = request;
  if (!room) {
    free();
    return;
  }
  let at = live[POSITION]!;
  ring[at] = timed ? RESUME | FLAG_LOW : RESUME;
  at = varint(at + 1, event === 0 ? 0xffffffff : live[EVENT]! - event);
  commit(timed ? time(at, nowNs()) : at);
}

/**
 * A loop event begins; an open one ends here. `op` 0 is none, `readyNs` below 0 is unknown, and
 * `registrar` is the event that caused it (0 unknown).
 */
export function loopBegin(kind: number, op: number, readyNs: number, registrar: number): void {
  if (live[PAUSED] !== 0) return;
  if (live[EVENT]! >= LAST_EVENT) {
    stopNumbering();
    return;
  }
  live[BUSY] = 1;
  const room = live[POSITION]! <= live[LIMIT]! || roll();
  const event = (live[EVENT]! + 1) >>> 0;
  const request = registrar === 0 ? 0 : contexts[registrar & CONTEXT_MASK]!;
  live[EVENT] = event;
  live[CURRENT] = event;
  live[LOOP_EVENT] = event;
  live[CONTEXT] = request;
  contexts[event & CONTEXT_MASK] = request;
  if (!room) {
    free();
    return;
  }
  let at = live[POSITION]!;
  ring[at] = LOOP_BEGIN | (readyNs < 0 ? 0 : FLAG_LOW) | (op === 0 ? 0 : FLAG_HIGH);
  at = time(at + 1, nowNs());
  ring[at] = kind;
  ring[at + 1] = 0; // no handle
  at += 2;
  if (op !== 0) at = varint(at, op);
  if (readyNs >= 0) {
    at = varint(at, Math.max(0, Math.floor(last[0]! - readyNs)));
    ring[at++] = 0; // exact
  }
  commit(at);
}

/**
 * The current event started an operation that will cause a loop event of `kind`. Returns the
 * number of the operation. `dueNs` below 0 is unknown.
 */
export function register(kind: number, resource: number, atNs: number, dueNs: number): number {
  if (live[PAUSED] !== 0) return 0;
  live[BUSY] = 1;
  const op = (live[OP]! + 1) >>> 0;
  live[OP] = op;
  if (!hasRoom()) return op;
  let at = live[POSITION]!;
  ring[at] = dueNs < 0 ? REGISTER : REGISTER | FLAG_LOW;
  at = time(at + 1, atNs);
  at = varint(at, op);
  ring[at] = kind;
  at = varint(at + 1, resource);
  if (dueNs >= 0) at = varint(at, Math.max(0, Math.floor(dueNs - last[0]!)));
  commit(at);
  return op;
}

/** A message port is `handle`, or a new one when that is 0. Returns its number. */
export function openPort(handle: number, name: number): number {
  if (live[PAUSED] !== 0) return handle;
  live[BUSY] = 1;
  const number = handle === 0 ? (live[HANDLE]! + 1) >>> 0 : handle;
  live[HANDLE] = Math.max(live[HANDLE]!, number);
  if (!hasRoom()) return number;
  let at = live[POSITION]!;
  ring[at] = HANDLE_OPEN;
  at = time(at + 1, nowNs());
  at = varint(at, number);
  ring[at] = PORT;
  commit(varint(at + 1, name));
  return number;
}

/** The current event posted a message on the handle of a port. */
export function write(handle: number, atNs: number): void {
  if (live[PAUSED] !== 0 || handle === 0) return;
  live[BUSY] = 1;
  if (!hasRoom()) return;
  let at = live[POSITION]!;
  ring[at] = WRITE;
  at = time(at + 1, atNs);
  at = varint(at, handle);
  commit(varint(at, 0)); // its bytes do not pass the kernel
}

/** The current event received a request. Returns its number, 0 while nothing is recorded. */
export function source(name: number): number {
  if (live[PAUSED] !== 0) return 0;
  ensureLoopEvent();
  live[BUSY] = 1;
  const request = (live[REQUEST]! + 1) >>> 0;
  live[REQUEST] = request;
  live[CONTEXT] = request;
  contexts[live[CURRENT]! & CONTEXT_MASK] = request;
  if (!hasRoom()) return request;
  let at = live[POSITION]!;
  ring[at] = SOURCE;
  at = time(at + 1, nowNs());
  at = varint(at, request);
  commit(varint(at, name));
  return request;
}

/** The current event handed over the last of a response. `route` 0 is the name of the source. */
export function sink(request: number, route: number, status: number): void {
  if (live[PAUSED] !== 0 || request === 0) return;
  live[BUSY] = 1;
  if (!hasRoom()) return;
  let at = live[POSITION]!;
  ring[at] = SINK;
  at = time(at + 1, nowNs());
  at = varint(at, request);
  at = varint(at, route);
  commit(varint(at, status));
}

/** A moment of the run, with a text from the string table. */
export function mark(kind: number, text: number): void {
  if (live[PAUSED] !== 0) return;
  live[BUSY] = 1;
  if (!hasRoom()) return;
  let at = live[POSITION]!;
  ring[at] = MARK;
  at = time(at + 1, nowNs());
  ring[at] = kind;
  commit(varint(at + 1, text));
}

/** Whether a record may start here; otherwise the writer is free again. */
function hasRoom(): boolean {
  if (live[POSITION]! <= live[LIMIT]! || roll()) return true;
  free();
  return false;
}

/** The record that ends at `at` is whole. */
function commit(at: number): void {
  live[POSITION] = at;
  free();
}

/**
 * V8 can collect garbage or serve an interrupt in the middle of a record. What the probe has to
 * say then would land in the same bytes; it keeps it until the record is whole.
 */
function free(): void {
  live[BUSY] = 0;
  if (live[DEFERRED] !== 0) nativeFlush();
}

function time(at: number, timeNs: number): number {
  const dt = Math.floor(timeNs - last[0]!);
  if (dt <= 0) {
    ring[at] = 0;
    return at + 1;
  }
  last[0] = last[0]! + dt;
  return varint(at, dt);
}

function varint(at: number, value: number): number {
  let rest = value;
  let next = at;
  while (rest > 0x7fffffff) {
    ring[next++] = (rest % 128) | 128;
    rest = Math.floor(rest / 128);
  }
  while (rest > 127) {
    ring[next++] = (rest & 127) | 128;
    rest >>>= 7;
  }
  ring[next++] = rest;
  return next;
}
