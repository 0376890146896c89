// Which V8 flags stand for the paper's GC-Tuning: those that `tune.mjs` chose for a service, unless
// others are given.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TUNED } from './arms.mjs';

/** Where a run keeps what was chosen, by service. */
export function choicePath(folder) {
  return join(folder, 'tuned.json');
}

/** A function of a service to its flags; `given` are for all. */
export function tunedFlags(folder, given) {
  const path = choicePath(folder);
  const chosen = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
  return (service) => given ?? chosen[service]?.flags ?? TUNED;
}
