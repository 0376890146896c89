/** Whether a process runs, of whomever it is. */
import { hasCode } from './failure';

/** One that has ended and was not waited for counts as running, as the kernel has it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Of another user it may not be signalled, and is there.
    return !hasCode(error, 'ESRCH');
  }
}
