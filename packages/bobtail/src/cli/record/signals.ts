/**
 * Signals between whoever sent them and the recorded service.
 *
 * The service runs in its own session (`process-group.ts`), so each signal that reaches the
 * recorder is passed on once. From the terminal it goes to everything the command started, as it
 * would without the recorder; any other sender meant one process, and the command alone gets it.
 */
import { readFileSync } from 'node:fs';
import { exitCodeOfSignal } from '../exit-codes';
import type { Outcome } from '../json/run';
import type { ProcessGroup } from './process-group';

const FORWARDED = [
  'SIGINT',
  'SIGTERM',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
  'SIGWINCH',
] as const;
const FROM_TERMINAL = new Set<string>(['SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGWINCH']);
/** Dying of these leaves no core file and tells a shell's loop to stop. */
const DIE_BY = new Set<string>(['SIGINT', 'SIGTERM', 'SIGHUP']);
const DIE_GRACE_MS = 500;

/** Passes signals on to `service` until the returned function is called. */
export function forwardSignals(
  service: ProcessGroup,
  onStop: (signal: NodeJS.Signals) => void,
): () => void {
  const forward = (signal: NodeJS.Signals): void => {
    if (FROM_TERMINAL.has(signal) && isTerminalForeground()) {
      service.signalAll(signal);
    } else {
      service.signal(signal);
    }
    if (DIE_BY.has(signal)) {
      onStop(signal);
    }
  };
  // Ctrl-Z would stop the recorder only; the service must stop and go on with it.
  const suspend = (): void => {
    service.signalAll('SIGSTOP');
    process.kill(process.pid, 'SIGSTOP');
  };
  const goOn = (): void => service.signalAll('SIGCONT');
  for (const signal of FORWARDED) {
    process.on(signal, forward);
  }
  process.on('SIGTSTP', suspend);
  process.on('SIGCONT', goOn);
  return () => {
    for (const signal of FORWARDED) {
      process.off(signal, forward);
    }
    process.off('SIGTSTP', suspend);
    process.off('SIGCONT', goOn);
  };
}

/** Whether this process is in the foreground group of its terminal: there Ctrl-C goes to. */
function isTerminalForeground(): boolean {
  try {
    const stat = readFileSync('/proc/self/stat', 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [, , group, , , foreground] = fields;
    return group !== undefined && group === foreground;
  } catch {
    return false;
  }
}

/** Ends this process as the service ended: by its code, its signal, or `128 + n`. */
export function exitLike(outcome: Outcome): void {
  if (outcome.signal === null) {
    process.exitCode = outcome.exitCode ?? 0;
    return;
  }
  process.exitCode = exitCodeOfSignal(outcome.signal);
  if (DIE_BY.has(outcome.signal)) {
    process.kill(process.pid, outcome.signal);
    setTimeout(() => undefined, DIE_GRACE_MS);
  }
}
