/**
 * Where the kernel counts how often this process' group had used up its CPU quota.
 *
 * Only the places and the counts at the start: the process may end by a signal, so it is the
 * command line that reads the same files again.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Counted, readThrottling } from '../cgroup/throttling';

/** The groups that have such counts, the innermost first; none where the kernel keeps none. */
export function readCounts(root = '/sys/fs/cgroup', proc = '/proc/self'): Counted[] {
  let lines: string[];
  try {
    lines = readFileSync(join(proc, 'cgroup'), 'latin1').trim().split('\n');
  } catch (error) {
    // No procfs, or none that this process may read: nothing is known.
    void error;
    return [];
  }
  return lines.flatMap((line) => countsOf(line, root));
}

/** Of a line as `0::/a/b` (version 2) or `4:cpu,cpuacct:/a/b` (version 1). */
function countsOf(line: string, root: string): Counted[] {
  const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
  if (controllers === undefined || path === undefined) return [];
  if (controllers !== '' && !controllers.split(',').includes('cpu')) return [];
  const mounts = controllers === '' ? ['', 'unified'] : [...new Set(['cpu', controllers])];
  return mounts.flatMap((mount) => countsAlong(join(root, mount), path));
}

/** A group's counts and those of the groups above: each may have a quota of its own. */
function countsAlong(mount: string, path: string): Counted[] {
  const names = path.split('/').filter((name) => name !== '' && name !== '..');
  const counts: Counted[] = [];
  for (let depth = names.length; depth >= 0; depth--) {
    const file = join(mount, ...names.slice(0, depth), 'cpu.stat');
    const read = readThrottling(file);
    if (read !== null) counts.push({ file, ...read });
  }
  return counts;
}
