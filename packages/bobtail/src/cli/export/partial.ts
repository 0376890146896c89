/**
 * What is being written, under a name beside its place until it is complete.
 *
 * The name tells who writes it, since nobody can clean up after SIGKILL: whoever writes the same
 * output next removes what is left of those that are no more.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync, realpathSync, renameSync, rmSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isAlive } from '../alive';
import { Failure, hasCode, writeFailure } from '../failure';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const LEFT_BEHIND = /^(\d+)-[0-9a-f]{12}\.(?:partial|previous)$/;

/** Where an output is written to, and where it belongs. */
export interface Partial {
  /** As the user named it, for complaints. */
  readonly out: string;
  /** Beside the place. */
  readonly path: string;
  /** Where it belongs: behind a link, too. */
  readonly place: string;
  /** Whether something is at the place. */
  readonly replaces: boolean;
}

/** A name beside the place of an output, which is not there yet or is a file. */
export function partialOf(out: string): Partial {
  const replaces = statOf(out) !== undefined;
  const place = replaces ? realpathSync(out) : out;
  removeLeftBehind(place);
  return { out, path: besides(place, 'partial'), place, replaces };
}

/** A name for what is kept while it is being replaced. */
export function previousOf({ place }: Partial): string {
  return besides(place, 'previous');
}

/** Puts it in its place. Throws a `Failure`. */
export function commit({ path, place, out }: Partial): void {
  try {
    renameSync(path, place);
  } catch (error) {
    throw writeFailure(error, out);
  }
}

/** Removes files and folders, if they are there. */
export function discard(paths: readonly string[]): void {
  for (const path of paths) {
    rmSync(path, { recursive: true, force: true });
  }
}

/** What is there: undefined for nothing. Throws a `Failure` where that cannot be told. */
export function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) {
      return undefined;
    }
    throw writeFailure(error, path);
  }
}

/** Whether an output is to be written to directly, as a pipe is. Throws for a folder. */
export function isDirect(out: string): boolean {
  const there = statOf(out);
  if (there?.isDirectory()) {
    throw new Failure('cannotWrite', 'cannot write: is a folder', out);
  }
  return there !== undefined && !there.isFile();
}

/** What is being written by anybody in this process. */
const pending = new Set<string>();

/**
 * Ends by the signal, at once, without leaving half an output; until `stop`.
 *
 * Not by `process.exit`, which waits for the analysis, and that may yet make the file. A program
 * that listens to the signal itself goes on or ends as it likes, and so does the output.
 */
export function discardWhenInterrupted(paths: readonly string[]): { stop(): void } {
  if (pending.size === 0) {
    for (const signal of SIGNALS) process.on(signal, interrupted);
  }
  for (const path of paths) pending.add(path);
  return {
    stop: () => {
      for (const path of paths) pending.delete(path);
      if (pending.size === 0) {
        for (const signal of SIGNALS) process.removeListener(signal, interrupted);
      }
    },
  };
}

function interrupted(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) {
    return;
  }
  discard([...pending]);
  process.removeListener(signal, interrupted);
  process.kill(process.pid, signal);
}

function besides(place: string, what: 'partial' | 'previous'): string {
  const writer = `${process.pid}-${randomBytes(6).toString('hex')}`;
  return join(dirname(place), `.${basename(place)}.${writer}.${what}`);
}

function removeLeftBehind(place: string): void {
  const start = `.${basename(place)}.`;
  const folder = dirname(place);
  for (const name of namesIn(folder)) {
    const writer = name.startsWith(start) ? LEFT_BEHIND.exec(name.slice(start.length)) : null;
    if (writer !== null && !isAlive(Number(writer[1]))) {
      discard([join(folder, name)]);
    }
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // A folder that cannot be listed may still be written to; if not, that is told by the write.
    return [];
  }
}
