/**
 * What the machine and the groups of the recorded processes lost while the recording ran: time the
 * hypervisor gave to others, and time in which a CPU quota was used up.
 *
 * Counted from outside and as sums: a trace tells when a thread did not run, this tells why.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ThrottlingWatch } from '../../cgroup/throttling';
import { type RecordedProcess, readRecordedProcesses } from './agent-files';

/** Ticks of `/proc/stat`: USER_HZ is 100 on every architecture Node runs on. */
const NS_PER_TICK = 10_000_000;
const STEAL_FIELD = 8;

/** Time stolen from all CPUs since the machine started; null where the kernel does not tell. */
export function readStealNs(path = '/proc/stat'): number | null {
  try {
    const [line = ''] = readFileSync(path, 'latin1').split('\n', 1);
    const ticks = Number(line.trim().split(/\s+/)[STEAL_FIELD] ?? Number.NaN);
    return line.startsWith('cpu') && Number.isSafeInteger(ticks) ? ticks * NS_PER_TICK : null;
  } catch (error) {
    // No procfs, or none that may be read: unknown.
    void error;
    return null;
  }
}

/** Time stolen since `before`. */
export function stolenSince(before: number | null, path?: string): number | null {
  const now = readStealNs(path);
  return before === null || now === null ? null : Math.max(0, now - before);
}

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
