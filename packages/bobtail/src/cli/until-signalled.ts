/** Long work that a signal ends in order, so that what is known by then is still told. */
import { exitCodeOfSignal } from './exit-codes';
import { watchNpx } from './npx';

const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs until done or told to end. The second signal does not wait: leaving kills what runs. */
export async function untilSignalled<T>(
  run: (ending: AbortSignal) => Promise<T>,
): Promise<{ result: T; signal: NodeJS.Signals | undefined }> {
  const ending = new AbortController();
  let first: NodeJS.Signals | undefined;
  const end = (signal: NodeJS.Signals): void => {
    if (first !== undefined) process.exit(exitCodeOfSignal(signal));
    first = signal;
    stopWatching();
    ending.abort();
  };
  const stopWatching = watchNpx(end);
  for (const signal of ENDING) process.on(signal, end);
  try {
    return { result: await run(ending.signal), signal: first };
  } finally {
    stopWatching();
    for (const signal of ENDING) process.off(signal, end);
  }
}
