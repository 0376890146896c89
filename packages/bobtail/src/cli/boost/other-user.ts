/**
 * Whether a service has become another user than the one who boosts it, before it served.
 *
 * A lever is mostly root's, and a server mostly is not. What such a process tells goes into a
 * folder that only root may use, where no other user can make this command read or write what is
 * not its own. So the process cannot say that it is not boosted, and somebody has to look.
 */
import { readFileSync } from 'node:fs';
import { processIds } from '../process-stat';
import type { Silence } from './summary';

interface Status {
  readonly parent: number;
  /** Effective. */
  readonly uid: number;
}

/** One of a command's processes that is of another user; undefined where none is known. */
export function otherUser(command: number): Silence | undefined {
  const own = process.geteuid?.();
  const all = new Map(processIds().map((pid) => [pid, statusOf(pid)]));
  for (const [pid, status] of all) {
    if (status === undefined || status.uid === own) continue;
    if (isBelow(pid, command, all)) {
      const why = `its process ${pid} is of user ${status.uid}, who cannot take part in a boost by`;
      return { pid, why: `${why} user ${own}: start bobtail boost as that user` };
    }
  }
  return undefined;
}

function isBelow(
  pid: number,
  command: number,
  all: ReadonlyMap<number, Status | undefined>,
): boolean {
  let at: number | undefined = pid;
  while (at !== undefined && at > 1 && at !== command) at = all.get(at)?.parent;
  return at === command;
}

/** Nothing of one that has ended meanwhile. */
function statusOf(pid: number): Status | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/status`, 'latin1');
    const parent = /^PPid:\t(\d+)$/m.exec(text)?.[1];
    const uid = /^Uid:\t\d+\t(\d+)\t/m.exec(text)?.[1];
    return parent === undefined || uid === undefined
      ? undefined
      : { parent: Number(parent), uid: Number(uid) };
  } catch {
    return undefined;
  }
}
