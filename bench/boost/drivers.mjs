// Lets those who decide and move the lever, and the probe's threads in a service that is recorded,
// go before all that has a core with them, and the recorder after it.
//
// On two CPUs they share one with the load, the databases and V8's helpers, of which these two go
// before the load (`databases.mjs`). Behind them a tenth of the looks came 0.6 to 1 ms late and a
// hundredth 4 to 6, so that boosts began late and lasted for longer than anybody wanted; before
// them it is 0.06 and 0.12 ms. A service that is worth a boost has a core to spare for that.
import { execFileSync } from 'node:child_process';
import {
  commandOf,
  descendants,
  LOAD_CORE,
  onlyWhenIdle,
  pin,
  pinThread,
  SERVER_CORE,
  threadsOf,
} from '../harness/cpu.mjs';

/** Of the real-time class: that of the databases is 2. */
const PRIORITY = '3';
/** By their names: the thread of the probe that looks, and who has the lever in his hand. */
const DRIVERS = new Set(['bobtail-act', 'bobtaild']);
/** Of the probe in a service that is recorded. */
const OF_PROBE = new Set(['bobtail-mapper', 'bobtail-watch', 'bobtail-ready']);

/** Of a process and all that it started; how many there are, which is none where it was refused. */
export function driversFirst(pid) {
  const own = threadsNamed(DRIVERS, pid);
  own.forEach(first);
  return own.length;
}

/**
 * Has the probe's own threads work beside the loop, as where there are cores to spare, and not on
 * its only one: they look at it just while an event runs long.
 */
export function probeAside(pid) {
  for (const thread of threadsNamed(OF_PROBE, pid)) {
    pinThread(thread, LOAD_CORE);
    first(thread);
  }
}

/**
 * Has the recorder work while nobody wants the core of the servers: on the load's it went before
 * the load, so that what was due meanwhile came at once, in no arm but his.
 */
export function recorderLast(pid) {
  pin(pid, SERVER_CORE);
  threadsOf(pid).forEach(onlyWhenIdle);
}

function threadsNamed(names, pid) {
  const threads = [pid, ...descendants(pid)].flatMap(threadsOf);
  return threads.filter((thread) => names.has(commandOf(thread)));
}

function first(thread) {
  execFileSync('chrt', ['--fifo', '--pid', PRIORITY, thread], { stdio: 'ignore' });
}
