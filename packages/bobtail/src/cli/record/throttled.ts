/**
 * Time in which the groups of the recorded processes had used up their CPU quota.
 *
 * Counted from outside and as a sum: a trace tells when a thread did not run, this tells why.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ThrottlingWatch } from '../../cgroup/throttling';
import { type RecordedProcess, readRecordedProcesses } from './agent-files';

/** Reads again what the groups of the recorded processes were throttled. */
export function lookAtThrottling(folder: string, watch: ThrottlingWatch): void {
  for (const one of readRecordedProcesses(folder)) watch.look(one.cpuStat ?? []);
}

/** Adds to every process file what its groups were throttled since the process told the counts. */
export function writeThrottling(folder: string, watch: ThrottlingWatch): void {
  for (const one of readRecordedProcesses(folder)) {
    const groups = one.cpuStat ?? [];
    watch.look(groups);
    replaceProcessFile(folder, { ...one, throttled: watch.longest(groups) });
  }
}

function replaceProcessFile(folder: string, content: RecordedProcess): void {
  const path = join(folder, `process-${content.pid}-${content.thread}.json`);
  writeFileSync(`${path}.tmp`, `${JSON.stringify(content)}\n`);
  renameSync(`${path}.tmp`, path);
}
