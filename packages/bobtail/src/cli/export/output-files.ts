/**
 * Several outputs of one command: all are there, each whole, or none is.
 *
 * All are written beside their places before the first is put in its place. Renaming one of several
 * may still fail, say where another user owns what is there; then those before it are taken back.
 * Only SIGKILL or a crash between two renames leaves some new and some old, each of them whole.
 */
import { constants, copyFileSync, linkSync, realpathSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Failure, writeFailure } from '../failure';
import {
  commit,
  discard,
  discardWhenInterrupted,
  isDirect,
  type Partial,
  partialOf,
  previousOf,
} from './partial';

/** A text and where it is to be written. */
export interface TextOutput {
  readonly out: string;
  readonly text: string;
}

/** Writes all, or none. Rejects with a `Failure`, also where two are one file. */
export async function writeTextFiles(outputs: readonly TextOutput[]): Promise<void> {
  if (outputs.length === 0) {
    return;
  }
  const direct = outputs.filter(({ out }) => isDirect(out));
  const whole = outputs.filter((one) => !direct.includes(one));
  const partials = whole.map(({ out }) => partialOf(out));
  refuseTwins(partials);
  const previous = partials.filter(({ replaces }) => replaces).map(keepable);
  const temporary = [...partials.map(({ path }) => path), ...previous.map(({ kept }) => kept)];
  const interruption = discardWhenInterrupted(temporary);
  try {
    for (const [index, { text, out }] of whole.entries()) {
      await writeText(partials[index]?.path ?? out, text, out);
    }
    // What cannot be taken back comes last of what may fail.
    for (const { text, out } of direct) {
      await writeText(out, text, out);
    }
    commitAll(partials, new Map(previous.map(({ partial, kept }) => [partial, kept])));
  } finally {
    interruption.stop();
    discard(temporary);
  }
}

async function writeText(path: string, text: string, out: string): Promise<void> {
  try {
    await writeFile(path, text);
  } catch (error) {
    throw writeFailure(error, out);
  }
}

function refuseTwins(partials: readonly Partial[]): void {
  const places = new Set<string>();
  for (const { place, out } of partials) {
    const resolved = resolvedPlace(place);
    if (places.has(resolved)) {
      throw new Failure('usage', 'two outputs are the same file', out);
    }
    places.add(resolved);
  }
}

/** The same for any two names of a file that may not be there yet. */
function resolvedPlace(place: string): string {
  try {
    return join(realpathSync(dirname(place)), basename(place));
  } catch (error) {
    throw writeFailure(error, place);
  }
}

interface Kept {
  readonly partial: Partial;
  readonly kept: string;
}

function keepable(partial: Partial): Kept {
  return { partial, kept: previousOf(partial) };
}

/** In one go, without waiting in between. */
function commitAll(partials: readonly Partial[], previous: ReadonlyMap<Partial, string>): void {
  const done: Partial[] = [];
  try {
    for (const partial of partials) {
      const kept = previous.get(partial);
      // The last one is not taken back.
      if (kept !== undefined && partial !== partials.at(-1)) {
        keep(partial, kept);
      }
      commit(partial);
      done.push(partial);
    }
  } catch (error) {
    for (const partial of done) {
      const kept = previous.get(partial);
      if (kept === undefined) {
        discard([partial.place]);
      } else {
        commit({ ...partial, path: kept });
      }
    }
    throw error;
  }
}

function keep({ place, out }: Partial, kept: string): void {
  try {
    linkSync(place, kept);
  } catch {
    // Some file systems know no hard links.
    copy(place, kept, out);
  }
}

function copy(place: string, kept: string, out: string): void {
  try {
    copyFileSync(place, kept, constants.COPYFILE_FICLONE);
  } catch (error) {
    throw writeFailure(error, out);
  }
}
