// Keeps the processors of a virtual machine from ever sleeping, as `idle=poll` on the kernel's
// command line would: a core that sleeps and wakes is given to others by the host meanwhile, and
// has to wait for its turn when it wakes (`bench/stolen/`).
//
// By the kernel's own interface for a bound of wake-up latency (PM QoS): it ends with whoever holds
// the file open. A process at the priority that everything goes before (`SCHED_IDLE`) does the same
// for one core, but where it ran for minutes beside others that seldom slept, Linux 6.18 did not
// run its own workers for 25 minutes.
import { closeSync, openSync, writeSync } from 'node:fs';

const LATENCY_FILE = '/dev/cpu_dma_latency';

/** Codes of errors where this machine has no such file, or does not let us. */
const REFUSALS = ['EACCES', 'ENOENT', 'ENODEV', 'ENXIO', 'EPERM', 'EROFS'];

/**
 * Until the function is called that this gives, or this process ends. Needs root, and a kernel with
 * an idle loop that knows of such bounds (`cpuidle`).
 */
export function keepAwake() {
  const file = openSync(LATENCY_FILE, 'w');
  // Microseconds, as a number of 32 bits.
  writeSync(file, new Uint8Array(4));
  return () => closeSync(file);
}

/** The same where it is allowed, until this process ends; whether it is. */
export function keptAwake() {
  try {
    keepAwake();
    return true;
  } catch (error) {
    if (!REFUSALS.includes(error.code)) throw error;
    return false;
  }
}
