/**
 * The moment the recording of a worker thread starts that serves nobody but its own process.
 *
 * It gets its first message after another thread of the process began to be recorded. Looking for
 * the files of that thread, and not asking it, needs no channel between the threads; the worker
 * threads of a tool find none and are left alone.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { MessagePort, parentPort } from 'node:worker_threads';
import type { AnyFunction } from './bind';
import { startRecording } from './recording';
import type { Settings } from './settings';

const DISPATCH = Symbol.for('nodejs.internal.kHybridDispatch');
/** Messages may come by the thousand, and another thread may listen late. */
const LOOKS_APART_MS = 50;

/** Waits for a message, in a worker thread. */
export function startAtMessages(settings: Settings): void {
  // The main thread has none, nor has the one in which Node runs the loaders of ES modules.
  if (parentPort === null) return;
  const prototype = MessagePort.prototype as unknown as Record<symbol, AnyFunction>;
  const dispatch = prototype[DISPATCH];
  if (typeof dispatch !== 'function') throw new Error('messages are dispatched in an unknown way');
  let lookedMs = Number.NEGATIVE_INFINITY;
  function look(): void {
    const nowMs = performance.now();
    if (nowMs - lookedMs < LOOKS_APART_MS) return;
    lookedMs = nowMs;
    if (!isRecorded(settings.folder)) return;
    delete prototype[DISPATCH];
    startRecording(settings);
  }
  Object.defineProperty(prototype, DISPATCH, {
    value(this: unknown): unknown {
      look();
      // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
      return Reflect.apply(dispatch, this, arguments);
    },
    writable: true,
    configurable: true,
  });
}

/** Whether the main thread of this process is recorded, or any that listens. */
function isRecorded(folder: string): boolean {
  const { pid } = process;
  return [`process-${pid}-0.json`, `listening-${pid}.json`].some((name) =>
    existsSync(join(folder, name)),
  );
}
