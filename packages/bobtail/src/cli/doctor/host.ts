/** Facts of this machine that decide what can be measured, or that explain what was. */
import { readFileSync } from 'node:fs';
import { availableParallelism, release } from 'node:os';

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

/** cgroup v2 (`cpu.max`), then v1. */
function readCpuQuota(): number | null {
  const [max, period] = readWords('/sys/fs/cgroup/cpu.max');
  if (max !== undefined) {
    return max === 'max' ? null : Number(max) / Number(period);
  }
  const [quotaUs] = readWords('/sys/fs/cgroup/cpu/cpu.cfs_quota_us');
  const [periodUs] = readWords('/sys/fs/cgroup/cpu/cpu.cfs_period_us');
  return quotaUs === undefined || Number(quotaUs) <= 0 ? null : Number(quotaUs) / Number(periodUs);
}

/** Nothing where there is no such file: then there is no such limit. */
function readWords(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').trim().split(/\s+/);
  } catch {
    return [];
  }
}
