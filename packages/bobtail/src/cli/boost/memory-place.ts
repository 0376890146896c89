/**
 * Where the files are that a service writes while it answers: in memory, if there is such a place.
 *
 * A rename on a disk waits for the journal of its file system, and the loop of the service with it
 * (`bench/boost/telling.mjs`). For anything large such a place is too small in many containers.
 */
import { accessSync, constants, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute } from 'node:path';

/** A user's own, then everybody's; the temporary folder where neither can be used. */
export function memoryPlace(): string {
  return [process.env.XDG_RUNTIME_DIR, '/dev/shm'].find(isUsable) ?? tmpdir();
}

function isUsable(place: string | undefined): place is string {
  if (place === undefined || !isAbsolute(place)) return false;
  try {
    accessSync(place, constants.W_OK | constants.X_OK);
    return statSync(place).isDirectory();
  } catch {
    // There is none, or it is somebody else's, as after `su`.
    return false;
  }
}
