/** Waits for the server that the load of a command is meant for. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Listening, readListening } from './agent-files';

const POLL_MS = 50;
/** How long a server that is not of HTTP waits for one that is. */
const HTTP_GRACE_MS = 1_000;

/**
 * The first HTTP server that tells in `folder` where it listens, or one of another kind when none
 * follows it; undefined when it is over before. `ended` wakes up who waits.
 */
export async function firstListening(
  folder: string,
  isOver: () => boolean,
  ended: Promise<unknown>,
): Promise<Listening | undefined> {
  let otherSinceMs: number | undefined;
  while (!isOver()) {
    const [first] = readListening(folder);
    if (first !== undefined) {
      otherSinceMs ??= performance.now();
      if (first.http || performance.now() - otherSinceMs >= HTTP_GRACE_MS) return first;
    }
    await Promise.race([sleep(POLL_MS), ended]);
  }
  return readListening(folder)[0];
}
