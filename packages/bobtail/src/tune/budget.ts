/**
 * Memory that a service may use here: what the user says, else what its container is limited to.
 *
 * Read along the whole path of control groups, since a limit of any group above holds too.
 */
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
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
  const lines = (readText(groups) ?? '').trim().split('\n');
  const limits = lines.flatMap((line) => limitsOf(line, root));
  // Without a limit version 1 has a number beyond all memory.
  const real = limits.filter(({ bytes }) => bytes > 0 && bytes < hostBytes);
  const lowest = real.reduce<Budget | undefined>(
    (least, one) => (least === undefined || one.bytes < least.bytes ? one : least),
    undefined,
  );
  return lowest ?? { bytes: hostBytes, source: 'host' };
}

/** Of a line as `0::/a/b` (version 2) or `4:memory:/a/b` (version 1). */
function limitsOf(line: string, root: string): Budget[] {
  const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
  if (controllers === undefined || path === undefined) return [];
  if (controllers === '') {
    const mounts = [root, join(root, 'unified')];
    return mounts.flatMap((mount) => limitsAlong(mount, path, 'memory.max', 'cgroup-v2'));
  }
  if (!controllers.split(',').includes('memory')) return [];
  return limitsAlong(join(root, 'memory'), path, 'memory.limit_in_bytes', 'cgroup-v1');
}

function limitsAlong(mount: string, path: string, name: string, source: Budget['source']) {
  const groups = path.split('/').filter((one) => one !== '' && one !== '..');
  const limits: Budget[] = [];
  for (let depth = groups.length; depth >= 0; depth -= 1) {
    // `max` is no number.
    const bytes = Number(readText(join(mount, ...groups.slice(0, depth), name))?.trim());
    if (bytes > 0) limits.push({ bytes, source });
  }
  return limits;
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
