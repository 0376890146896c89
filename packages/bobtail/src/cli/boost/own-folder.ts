/**
 * The folder of one command that moves levers: what its processes tell, and the journal of the
 * bobtaild it started.
 *
 * It is removed only when that journal lists nothing any more. With a lever still raised, whoever
 * puts it back goes by the journal: the guard that the bobtaild left, or a person.
 */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { tell } from '../console';
import { Failure, hasCode, reasonOf } from '../failure';
import { journalIn, type Left, leftIn } from './journal';
import { BOBTAILD } from './keeper';
import { removeFolder } from './remove-folder';
import { folderPrefix, type RunName } from './run-folder';

/** The guard of a bobtaild that was killed needs some ms, on a busy machine more. */
const GUARD_MS = 2_000;
const ROOT_FILE = 'lever-root';

/** Makes one. */
export function makeOwnFolder(name: RunName): string {
  return mkdtempSync(folderPrefix(name));
}

/** Makes one anew that a bobtaild took along, since it found nothing to hold. */
export function makeAgain(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    // Where everybody may make folders somebody else may have been first.
    const { uid } = lstatSync(folder);
    if (uid !== process.geteuid?.()) throw new Failure('internal', 'not our folder', folder);
  }
}

/** Notes that levers are of a tree of files: who restores by the journal alone must know. */
export function noteRoot(folder: string, root: string): void {
  writeFileSync(join(folder, ROOT_FILE), root);
}

/** Removes it; false, and told, where a lever is left raised: then it stays. */
export async function endOwnFolder(folder: string): Promise<boolean> {
  const left = await leftIn(folder, GUARD_MS);
  if (left !== undefined) {
    tell(`bobtail: ${sentenceOf(left, folder)}`);
    return false;
  }
  try {
    await removeFolder(folder);
  } catch (error) {
    // How the service ended matters more.
    tell(`bobtail: cannot remove ${folder}: ${reasonOf(error)}`);
  }
  return true;
}

/** Arguments with which a bobtaild puts back what the journal in `folder` lists. */
export function restoreArgs(folder: string): string[] {
  const noted = join(folder, ROOT_FILE);
  const root = existsSync(noted) ? ['--root', readFileSync(noted, 'utf8')] : [];
  // It has no rules to go by: nothing in a configuration says how to put back.
  return ['--restore', '--config', '/dev/null', '--journal', journalIn(folder), ...root];
}

/** One line: what is left raised as far as known, by which journal, and what to do. */
function sentenceOf({ levers, journal }: Left, folder: string): string {
  const what = levers === null ? 'a lever, it is not known which' : levers.join(', ');
  const command = [BOBTAILD, ...restoreArgs(folder)].map(quoted).join(' ');
  return (
    `not put back: ${what}; what it was is in ${journal}; a guard tries for three minutes, ` +
    `after that run ${command}`
  );
}

/** For a shell. */
function quoted(word: string): string {
  return /^[\w./:=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
