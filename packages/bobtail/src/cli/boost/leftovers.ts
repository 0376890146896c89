/**
 * Puts back what boosts before this one left raised: those that were killed with their bobtaild and
 * its guard, as a container is.
 */
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { tell } from '../console';
import { oneLine } from '../failure';
import { journalIn, leftIn } from './journal';
import { BOBTAILD } from './keeper';
import { restoreArgs } from './own-folder';
import { abandonedFolders } from './run-folder';

const RESTORE_MS = 10_000;
/** A bobtaild or a guard is there yet: it puts back. */
const TAKEN = 75;

/** Looks through all folders whose command has ended. A trouble is told, and stops nothing. */
export async function putBackLeftovers(isQuiet: boolean): Promise<void> {
  for (const folder of abandonedFolders()) {
    const left = await leftIn(folder, 0);
    const { code, told } = await restore(folder);
    if (code === TAKEN) continue;
    const levers = left?.levers?.join(', ') ?? 'a lever';
    if (code === 0) {
      rmSync(folder, { recursive: true, force: true, maxRetries: 2 });
      if (left !== undefined && !isQuiet) tell(`bobtail: put back what was left: ${levers}`);
    } else if (left !== undefined) {
      tell(`bobtail: ${levers} of an earlier boost: ${told} (${journalIn(folder)})`);
    }
  }
}

/** The exit code of a bobtaild that does, and its last line. */
function restore(folder: string): Promise<{ code: number; told: string }> {
  return new Promise((resolve) => {
    const how = { timeout: RESTORE_MS };
    execFile(BOBTAILD, restoreArgs(folder), how, (error, _stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : 1;
      const told = oneLine(stderr.trim().split('\n').at(-1) || (error?.message ?? ''));
      resolve({ code: error === null ? 0 : code, told });
    });
  });
}
