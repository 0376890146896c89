/**
 * What a service has used so far: CPU time and peak memory of all its processes.
 *
 * Read from the kernel's own accounts while the processes still run. Resident memory is the sum of
 * each process' own peak, which may have been at different times, so it errs on the high side.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { hasCode } from '../cli/failure';
import { processIds, processStat } from '../cli/process-stat';

/** Sums over the processes of a session. */
export interface Usage {
  readonly cpuNs: number;
  readonly peakRssBytes: number;
}

const BYTES_PER_KB = 1024;

/** Usage of the processes of session `leader`, which is the process that began it. */
export function readUsage(leader: number, proc = '/proc'): Usage {
  let cpuNs = 0;
  let peakRssBytes = 0;
  for (const pid of processIds(proc)) {
    if (processStat(pid, proc)?.session === leader) {
      cpuNs += cpuNsOf(`${proc}/${pid}`);
      peakRssBytes += peakRssOf(`${proc}/${pid}`);
    }
  }
  return { cpuNs, peakRssBytes };
}

/** Of its threads: the kernel counts nanoseconds for each, and 10 ms ticks for the process. */
function cpuNsOf(folder: string): number {
  let threads: string[];
  try {
    threads = readdirSync(`${folder}/task`);
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'EACCES')) return 0;
    throw error;
  }
  return threads.reduce((sum, thread) => {
    const [ranNs] = (readOf(`${folder}/task/${thread}/schedstat`) ?? '0').split(' ');
    return sum + Number(ranNs);
  }, 0);
}

function peakRssOf(folder: string): number {
  const peakKb = /^VmHWM:\s+(\d+) kB$/m.exec(readOf(`${folder}/status`) ?? '')?.[1];
  return peakKb === undefined ? 0 : Number(peakKb) * BYTES_PER_KB;
}

/** A process may end between two reads; it has used nothing then. */
function readOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ESRCH') || hasCode(error, 'EACCES')) {
      return undefined;
    }
    throw error;
  }
}
