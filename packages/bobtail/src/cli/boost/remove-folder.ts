/**
 * Removes a folder in which others may still put their own things away, as a bobtaild and its guard
 * do with a journal.
 *
 * Node's own retries are of the last step alone: a file that came after it had listed the folder
 * stays, and with it the folder.
 */
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../failure';

const TRIES = 20;
const PAUSE_MS = 25;

/** Rejects where it cannot be removed for half a second. */
export async function removeFolder(folder: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      rmSync(folder, { recursive: true, force: true });
      return;
    } catch (error) {
      if (!hasCode(error, 'ENOTEMPTY') || tries === TRIES) throw error;
    }
    await sleep(PAUSE_MS);
  }
}
