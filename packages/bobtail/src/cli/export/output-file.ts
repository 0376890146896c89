/**
 * An output that is there whole or not at all.
 *
 * It is written beside its place and renamed when it is complete, also when Ctrl-C comes in
 * between. What is no file (a pipe, `/dev/stdout`) cannot be replaced and is written to directly.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, realpathSync, renameSync, rmSync, type Stats, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Failure, hasCode, writeFailure } from '../failure';

/** What the output is to be. */
export type OutputKind = 'file' | 'folder';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Calls `write` with the path to write to and puts what it wrote in its place.
 *
 * Rejects with what `write` rejects with, or with a `Failure`; nothing of it is left then. A folder
 * that exists is not written over, a file is.
 */
export async function writeWhole<T>(
  out: string,
  kind: OutputKind,
  write: (path: string) => Promise<T>,
): Promise<T> {
  const there = statOf(out);
  if (kind === 'file' && there !== undefined && !there.isFile()) {
    if (there.isDirectory()) {
      throw new Failure('cannotWrite', 'cannot write: is a folder', out);
    }
    return write(out);
  }
  if (kind === 'folder' && there !== undefined) {
    throw new Failure('cannotWrite', 'cannot write: exists already', out);
  }
  const place = there === undefined ? out : realpathSync(out);
  const name = `.${basename(place)}.${randomBytes(6).toString('hex')}.partial`;
  const partial = join(dirname(place), name);
  const removeAtSignal = removeWhenInterrupted(partial);
  try {
    if (kind === 'folder') {
      make(partial, out);
    }
    const result = await write(partial);
    rename(partial, place, out);
    return result;
  } finally {
    removeAtSignal.stop();
    rmSync(partial, { recursive: true, force: true });
  }
}

/** Writes a text, whole or not at all. Rejects with a `Failure`. */
export function writeTextFile(out: string, text: string): Promise<void> {
  return writeWhole(out, 'file', async (path) => {
    try {
      await writeFile(path, text);
    } catch (error) {
      throw writeFailure(error, out);
    }
  });
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) {
      return undefined;
    }
    throw writeFailure(error, path);
  }
}

function make(partial: string, out: string): void {
  try {
    mkdirSync(partial);
  } catch (error) {
    throw writeFailure(error, out);
  }
}

function rename(partial: string, place: string, out: string): void {
  try {
    renameSync(partial, place);
  } catch (error) {
    throw writeFailure(error, out);
  }
}

/**
 * Ends by the signal, at once, without leaving half an output.
 *
 * Not by `process.exit`, which waits for the analysis, and that may yet make the file.
 */
function removeWhenInterrupted(partial: string): { stop(): void } {
  const handlers = SIGNALS.map((signal) => {
    const handler = (): void => {
      rmSync(partial, { recursive: true, force: true });
      process.kill(process.pid, signal);
    };
    process.once(signal, handler);
    return () => process.removeListener(signal, handler);
  });
  return {
    stop: () => {
      for (const remove of handlers) remove();
    },
  };
}
