/**
 * Puts back what boosts before this one left raised: those that were killed with their bobtaild and
 * its guard, as a container is.
 */
import { execFile } from 'node:child_process';
import { tell } from '../console';
import { oneLine, reasonOf } from '../failure';
import { formatDuration } from '../text/units';
import { journalIn, leftIn } from './journal';
import { abandon, BOBTAILD } from './keeper';
import { restoreArgs } from './own-folder';
import { removeFolder } from './remove-folder';
import { abandonedFolders } from './run-folder';

/** For all of them together: a service waits. What is left then is tried at the next start. */
const RESTORE_MS = 10_000;
const NS_PER_MS = 1e6;
/** A bobtaild or a guard is there yet: it puts back. */
const TAKEN = 75;

/** Looks through all folders whose command has ended. A trouble is told, and stops nothing. */
export async function putBackLeftovers(isQuiet: boolean): Promise<void> {
  try {
    await putBackAll(isQuiet);
  } catch (error) {
    // Of a place that cannot be read, say.
    tell(`bobtail: cannot look for what earlier boosts left: ${reasonOf(error)}`);
  }
}

async function putBackAll(isQuiet: boolean): Promise<void> {
  const endMs = performance.now() + RESTORE_MS;
  for (const folder of abandonedFolders()) {
    const restMs = endMs - performance.now();
    if (restMs <= 0) return;
    const left = await leftIn(folder, 0);
    const { code, told } = await restore(folder, restMs);
    if (code === TAKEN) continue;
    const levers = left?.levers?.join(', ') ?? 'a lever';
    if (code === 0) {
      await removeFolder(folder);
      if (left !== undefined && !isQuiet) tell(`bobtail: put back what was left: ${levers}`);
    } else if (left !== undefined) {
      tell(`bobtail: ${levers} of an earlier boost: ${told} (${journalIn(folder)})`);
    }
  }
}

/** The exit code of a bobtaild that does, and its last line. */
function restore(folder: string, withinMs: number): Promise<{ code: number; told: string }> {
  return new Promise((resolve) => {
    const late = setTimeout(() => {
      // One that hangs in the kernel is not waited for.
      abandon(child);
      resolve({ code: 1, told: `no answer within ${formatDuration(withinMs * NS_PER_MS)}` });
    }, withinMs);
    const child = execFile(BOBTAILD, restoreArgs(folder), (error, _stdout, stderr) => {
      clearTimeout(late);
      const code = typeof error?.code === 'number' ? error.code : 1;
      const told = oneLine(stderr.trim().split('\n').at(-1) || (error?.message ?? ''));
      resolve({ code: error === null ? 0 : code, told });
    });
  });
}
