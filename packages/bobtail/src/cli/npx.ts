/**
 * The end of `npx`, which starts a command in a shell that dies of a signal and passes none on.
 *
 * Whoever ended that meant what it ran, which nobody would ever stop: so the shell's end counts as
 * a SIGTERM. A signal to a whole group reaches the shell and the command alike: then it is the
 * signal that counts, once.
 */
import { readFileSync } from 'node:fs';
import { processStat } from './process-stat';

const POLL_MS = 250;
/** Before anything else is done: it may end while that lasts. */
const SHELL = npxShell();

/** The shell of npx, if this process was started by it. `npm_command` alone is inherited. */
function npxShell(): number | undefined {
  if (process.env.npm_command !== 'exec') return undefined;
  const npm = processStat(process.ppid)?.parent;
  return npm !== undefined && /^npm exec|\bnp[mx]\b/.test(commandLineOf(npm))
    ? process.ppid
    : undefined;
}

function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
  } catch {
    // It has ended meanwhile, or is somebody else's.
    return '';
  }
}

/** Calls `onEnd` when the shell of npx has ended and no signal came with that; stops it. */
export function watchNpx(onEnd: (signal: NodeJS.Signals) => void): () => void {
  if (SHELL === undefined) return () => undefined;
  let hasEnded = false;
  const timer = setInterval(() => {
    if (process.ppid === SHELL) return;
    // The signal may be on its way.
    if (hasEnded) {
      clearInterval(timer);
      onEnd('SIGTERM');
    }
    hasEnded = true;
  }, POLL_MS);
  timer.unref();
  return () => clearInterval(timer);
}
