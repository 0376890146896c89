/**
 * Where the folders of all boosts are, so that the next one finds what a killed one left.
 *
 * Of root one place that is known, on a tmpfs as `/run` mostly is: a kill of a whole control group
 * ends a boost, its bobtaild and the guard alike, and nobody would look through temporary folders.
 * Others have a place in memory that is not looked through; few of them can move a lever at all.
 */
import { accessSync, constants, existsSync, lstatSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { hasCode } from '../failure';
import { processStat } from '../process-stat';
import { memoryPlace } from './memory-place';

const OF_ROOT = '/run/bobtail-boost';
const NAME = /^bobtail-(?:boost|prove|doctor)-(\d+)-(\d+)-/;

/** What moves levers and may be killed while it does. */
export type RunName = 'boost' | 'prove' | 'doctor';

/** A place that is known; undefined where there is none for this user. */
export function knownPlace(): string | undefined {
  const told = process.env.BOBTAIL_RUN_DIR;
  if (told) return told;
  if (process.geteuid?.() !== 0) return undefined;
  try {
    if (!existsSync(OF_ROOT)) mkdirSync(OF_ROOT, { mode: 0o700 });
    accessSync(OF_ROOT, constants.W_OK);
    return lstatSync(OF_ROOT).uid === 0 ? OF_ROOT : undefined;
  } catch {
    // No `/run`, or one that is read-only as in many containers: then as for every user.
    return undefined;
  }
}

/** How the folder of this process begins. A number of a process is used again, a start is not. */
export function folderPrefix(name: RunName): string {
  const own = `bobtail-${name}-${process.pid}-${processStat('self')?.startTicks ?? 0}-`;
  return join(knownPlace() ?? memoryPlace(), own);
}

/** Folders whose command has ended; none where there is no place that is known. */
export function abandonedFolders(): string[] {
  const place = knownPlace();
  if (place === undefined) return [];
  return namesIn(place)
    .filter((name) => {
      const [, pid, start] = NAME.exec(name) ?? [];
      return pid !== undefined && processStat(Number(pid))?.startTicks !== start;
    })
    .map((name) => join(place, name));
}

function namesIn(place: string): string[] {
  try {
    return readdirSync(place);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}
