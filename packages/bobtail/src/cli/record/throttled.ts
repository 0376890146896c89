/**
 * Time in which the groups of the recorded processes had used up their CPU quota.
 *
 * Counted from outside and as a sum: a trace tells when a thread did not run, this tells why.
 */
import type { ThrottlingWatch } from '../../cgroup/throttling';
import { readRecordedProcesses, rewriteProcessFile } from './agent-files';

/** Reads again what the groups of the recorded processes were throttled. */
export function lookAtThrottling(folder: string, watch: ThrottlingWatch): void {
  for (const one of readRecordedProcesses(folder)) watch.look(one.cpuStat ?? []);
}

/** Adds to every process file what its groups were throttled since the process told the counts. */
export function writeThrottling(folder: string, watch: ThrottlingWatch): void {
  for (const one of readRecordedProcesses(folder)) {
    const groups = one.cpuStat ?? [];
    watch.look(groups);
    rewriteProcessFile(folder, { ...one, throttled: watch.longest(groups) });
  }
}
