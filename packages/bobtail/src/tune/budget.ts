/**
 * Memory that a service may use here: what the user says, else what its container is limited to.
 */
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { type Group, ownGroups } from '../cgroup/groups';
import { hasCode } from '../cli/failure';

/** A bound and who set it. */
export interface Budget {
  readonly bytes: number;
  readonly source: 'option' | 'cgroup-v1' | 'cgroup-v2' | 'host';
}

/** The bound of this container; all memory of the host where there is none. */
export function readBudget(
  root = '/sys/fs/cgroup',
  groups = '/proc/self/cgroup',
  hostBytes = totalmem(),
): Budget {
  const limits = ownGroups('memory', root, groups).map(limitOf);
  // Without a limit version 1 has a number beyond all memory.
  const real = limits.filter(({ bytes }) => bytes > 0 && bytes < hostBytes);
  const lowest = real.reduce<Budget | undefined>(
    (least, one) => (least === undefined || one.bytes < least.bytes ? one : least),
    undefined,
  );
  return lowest ?? { bytes: hostBytes, source: 'host' };
}

/** `max` is no number. */
function limitOf({ folder, version }: Group): Budget {
  const name = version === 2 ? 'memory.max' : 'memory.limit_in_bytes';
  const bytes = Number(readText(join(folder, name))?.trim());
  return { bytes, source: `cgroup-v${version}` };
}

/** Nothing where there is no such file, or none that may be read: no limit is known then. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'EACCES') || hasCode(error, 'ENOTDIR')) {
      return undefined;
    }
    throw error;
  }
}
