/** Facts of this machine that decide what can be measured, or that explain what was. */
import { readFileSync } from 'node:fs';
import { availableParallelism, release } from 'node:os';
import { join } from 'node:path';
import { type Group, ownGroups } from '../../cgroup/groups';

/** This machine. */
export interface Host {
  readonly platform: string;
  readonly arch: string;
  readonly kernel: string;
  readonly libc: string;
  readonly cpus: number;
  /** CPUs the container may use; null without a limit. */
  readonly cpuQuota: number | null;
}

/** Reads the facts. */
export function describeHost(): Host {
  return {
    platform: process.platform,
    arch: process.arch,
    kernel: release(),
    libc: describeLibc(),
    cpus: availableParallelism(),
    cpuQuota: readCpuQuota(),
  };
}

function describeLibc(): string {
  const { header } = process.report.getReport() as unknown as {
    header: { glibcVersionRuntime?: string };
  };
  if (header.glibcVersionRuntime !== undefined) {
    return `glibc ${header.glibcVersionRuntime}`;
  }
  return process.platform === 'linux' ? 'musl' : 'system';
}

/** The least that a group of this process or one above has; null where none has a limit. */
export function readCpuQuota(root?: string, told?: string): number | null {
  const quotas = ownGroups('cpu', root, told).map(quotaOf);
  const least = Math.min(...quotas.filter((one) => one > 0));
  return least === Infinity ? null : least;
}

/** In CPUs; `max`, -1 and what is not there are none. */
function quotaOf({ folder, version }: Group): number {
  if (version === 2) {
    const [max, period] = readWords(join(folder, 'cpu.max'));
    return Number(max) / Number(period);
  }
  const [quotaUs] = readWords(join(folder, 'cpu.cfs_quota_us'));
  const [periodUs] = readWords(join(folder, 'cpu.cfs_period_us'));
  return Number(quotaUs) / Number(periodUs);
}

/** Nothing where there is no such file: then there is no such limit. */
function readWords(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').trim().split(/\s+/);
  } catch {
    return [];
  }
}
