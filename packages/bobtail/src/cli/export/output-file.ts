/**
 * An output that is there whole or not at all.
 *
 * It is written beside its place and renamed when it is complete, also when Ctrl-C comes in
 * between. What is no file (a pipe, `/dev/stdout`) cannot be replaced and is written to directly.
 */
import { mkdirSync } from 'node:fs';
import { Failure, writeFailure } from '../failure';
import { commit, discard, discardWhenInterrupted, isDirect, partialOf, statOf } from './partial';

/** What the output is to be. */
export type OutputKind = 'file' | 'folder';

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
  if (kind === 'file' && isDirect(out)) {
    return write(out);
  }
  if (kind === 'folder' && statOf(out) !== undefined) {
    throw new Failure('cannotWrite', 'cannot write: exists already', out);
  }
  const partial = partialOf(out);
  const interruption = discardWhenInterrupted([partial.path]);
  try {
    if (kind === 'folder') {
      make(partial.path, out);
    }
    const result = await write(partial.path);
    commit(partial);
    return result;
  } finally {
    interruption.stop();
    discard([partial.path]);
  }
}

function make(partial: string, out: string): void {
  try {
    mkdirSync(partial);
  } catch (error) {
    throw writeFailure(error, out);
  }
}
