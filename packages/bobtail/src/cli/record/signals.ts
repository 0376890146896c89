/**
 * Signals between whoever sent them and the recorded service.
 *
 * The service runs in its own session (`process-group.ts`), so each signal that reaches the
 * recorder is passed on once. From the terminal it goes to everything the command started, as it
 * would without the recorder; any other sender meant one process, and the command alone gets it.
 */
import { exitCodeOfSignal } from '../exit-codes';
import type { Outcome } from '../json/run';
import { watchNpx } from '../npx';
import { processStat } from '../process-stat';
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
const JOB_CONTROL = ['SIGTSTP', 'SIGCONT'] as const;
const FROM_TERMINAL = new Set<string>(['SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGWINCH']);
/** Dying of these leaves no core file and tells a shell's loop to stop. */
const DIE_BY = new Set<string>(['SIGINT', 'SIGTERM', 'SIGHUP']);
const ENDS = new Set<string>([...DIE_BY, 'SIGQUIT']);
const DIE_GRACE_MS = 500;

/** Passes signals on to `service` until the returned function is called. */
export function forwardSignals(
  service: ProcessGroup,
  onStop: (signal: NodeJS.Signals) => void,
): () => void {
  const held = holdSignals();
  held.passOn(service, onStop);
  return held.release;
}

/** Signals that are held until there is a service to pass them on to. */
export interface HeldSignals {
  passOn(service: ProcessGroup, onStop?: (signal: NodeJS.Signals) => void): void;
  /** From then on they do what they do by default. */
  release(): void;
}

/** Holds signals from now on: one that ended this process would leave a service that just began. */
export function holdSignals(): HeldSignals {
  const early: NodeJS.Signals[] = [];
  let passOn = (signal: NodeJS.Signals): void => void early.push(signal);
  const listener = (signal: NodeJS.Signals): void => {
    // Whoever is told to end is not told again by the end of npx.
    if (ENDS.has(signal)) stopWatching();
    passOn(signal);
  };
  for (const signal of [...FORWARDED, ...JOB_CONTROL]) process.on(signal, listener);
  const stopWatching = watchNpx(listener);
  return {
    passOn: (service, onStop = () => undefined) => {
      passOn = (signal) => passOnTo(service, signal, onStop);
      for (const signal of early.splice(0)) passOn(signal);
    },
    release: () => {
      stopWatching();
      for (const signal of [...FORWARDED, ...JOB_CONTROL]) process.off(signal, listener);
    },
  };
}

function passOnTo(
  service: ProcessGroup,
  signal: NodeJS.Signals,
  onStop: (signal: NodeJS.Signals) => void,
): void {
  if (signal === 'SIGTSTP') {
    // Ctrl-Z would stop the recorder only; the service must stop and go on with it.
    service.signalAll('SIGSTOP');
    process.kill(process.pid, 'SIGSTOP');
  } else if (signal === 'SIGCONT') {
    service.signalAll('SIGCONT');
  } else if (FROM_TERMINAL.has(signal) && isTerminalForeground()) {
    service.signalAll(signal);
  } else {
    service.signal(signal);
  }
  if (DIE_BY.has(signal)) onStop(signal);
}

/** Whether this process is in the foreground group of its terminal: there Ctrl-C goes to. */
function isTerminalForeground(): boolean {
  const stat = processStat('self');
  return stat !== undefined && stat.group === stat.foreground;
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
