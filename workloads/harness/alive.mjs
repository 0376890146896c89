// Whether a process runs, for those that are nobody's child any more: nothing tells of their end.
import { readFileSync } from 'node:fs';

/** Not one that has ended and is not reaped: whose children they are now may never do that. */
export function isAlive(pid) {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes(error.code)) return false;
    throw error;
  }
}
