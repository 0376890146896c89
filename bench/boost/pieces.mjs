// What every experiment of this folder does around its cells: it runs in pieces, on the load's
// core, beside the databases that its services need, in memory that was touched before, and ends
// what it started. Both cores are kept awake: one that sleeps is stopped for five times as long
// (`bench/stolen/awake.mjs`).
import { keepAwake } from '../../workloads/harness/awake.mjs';
import { exitOnSignals } from '../../workloads/harness/exit-on-signals.mjs';
import { startServices } from '../../workloads/harness/services.mjs';
import { LOAD_CORE, pin } from '../harness/cpu.mjs';
import { touchMemory } from '../harness/touched-memory.mjs';
import { SERVICES } from './arms.mjs';
import { databasesGoFirst } from './databases.mjs';

/** Each child is ended with this process by a listener of its own. */
const CHILDREN_MAX = 50;

/** A function that tells whether so many seconds are over, as `--seconds-max` has them; 0 never. */
export function overdueAfter(secondsMax) {
  const startMs = performance.now();
  return () => secondsMax > 0 && performance.now() - startMs > secondsMax * 1000;
}

/**
 * Does `take(environment)` while the databases of these services are there, with what tells the
 * services where. Throws where one cannot be had.
 */
export async function besideDatabases(services, take) {
  exitOnSignals();
  process.setMaxListeners(CHILDREN_MAX);
  pin(process.pid, LOAD_CORE);
  touchMemory();
  const needs = [...new Set(services.flatMap((name) => SERVICES[name].needs))];
  const databases = await startServices(needs);
  const letSleep = keepAwake();
  try {
    for (const reason of Object.values(databases.missing)) throw new Error(reason);
    databasesGoFirst();
    return await take(databases.environment);
  } finally {
    letSleep();
    await databases.stop();
  }
}
