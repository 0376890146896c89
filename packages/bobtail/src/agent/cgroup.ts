/**
 * Where the kernel counts how often this process' group had used up its CPU quota.
 *
 * Only the places and the counts at the start: the process may end by a signal, so it is the
 * command line that reads the same files again.
 */

import { join } from 'node:path';
import { ownGroups } from '../cgroup/groups';
import { type Counted, readThrottling } from '../cgroup/throttling';

/** The groups that have such counts, the innermost first; none where the kernel keeps none. */
export function readCounts(root = '/sys/fs/cgroup', proc = '/proc/self'): Counted[] {
  return ownGroups('cpu', root, join(proc, 'cgroup')).flatMap(({ folder }) => {
    const file = join(folder, 'cpu.stat');
    const read = readThrottling(file);
    return read === null ? [] : [{ file, ...read }];
  });
}
