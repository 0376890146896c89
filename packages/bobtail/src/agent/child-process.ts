/**
 * Exits of child processes as loop events registered by the event that spawned them.
 *
 * libuv reaps children in a signal watcher, where nothing tells which child belongs to whom; the
 * handle's `onexit` does.
 */

import childProcess = require('node:child_process');

import { basename } from 'node:path';
import { isRecording } from './bursts';
import { LoopKind } from './codes';
import { replace } from './disguise';
import { nameId } from './names';
import type { Stream } from './recorder';

interface Spawned {
  _handle?: { onexit?: (...args: unknown[]) => unknown } | null;
  spawnfile?: unknown;
}

const CHILD: number = LoopKind.child;

/** Wraps `ChildProcess.prototype.spawn`. */
export function followChildProcesses(stream: Stream): void {
  const prototype = childProcess.ChildProcess.prototype as unknown as {
    spawn(...args: unknown[]): unknown;
  };
  const original = prototype.spawn;
  function spawn(this: Spawned): unknown {
    // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
    const result = Reflect.apply(original, this, arguments);
    if (isRecording()) followExit(stream, this);
    return result;
  }
  replace(prototype, 'spawn', spawn);
}

function followExit(stream: Stream, child: Spawned): void {
  const handle = child._handle;
  const onexit = handle?.onexit;
  if (!handle || typeof onexit !== 'function') return;
  const registrar = stream.currentEvent();
  const resource = nameId(`child ${basename(String(child.spawnfile ?? ''))}`);
  const op = stream.register(CHILD, resource, stream.nowNs(), -1);
  handle.onexit = function (this: unknown, ...args: unknown[]): unknown {
    stream.loopBegin(CHILD, op, -1, registrar);
    return Reflect.apply(onexit, this, args);
  };
}
