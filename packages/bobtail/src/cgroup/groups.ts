/**
 * The control groups that this process is in, and those above: a limit of any of them holds.
 *
 * A group of its own, as systemd and Docker make them, is seldom the first below the mount, where
 * most tools look; in a container it is, since there the mount is of that group.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One folder in which a group has its files; it may not be there. */
export interface Group {
  readonly folder: string;
  readonly version: 1 | 2;
}

/** Of a controller as `cpu` or `memory`, the innermost first; none where nothing tells. */
export function ownGroups(
  controller: string,
  root = '/sys/fs/cgroup',
  told = '/proc/self/cgroup',
): Group[] {
  let lines: string[];
  try {
    lines = readFileSync(told, 'latin1').trim().split('\n');
  } catch (error) {
    // No procfs, or none that this process may read: nothing is known.
    void error;
    return [];
  }
  return lines.flatMap((line) => groupsOf(line, controller, root));
}

/** Of a line as `0::/a/b` (version 2) or `4:cpu,cpuacct:/a/b` (version 1). */
function groupsOf(line: string, controller: string, root: string): Group[] {
  const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
  if (controllers === undefined || path === undefined) return [];
  if (controllers === '') {
    return ['', 'unified'].flatMap((mount) => foldersAlong(join(root, mount), path, 2));
  }
  if (!controllers.split(',').includes(controller)) return [];
  const mounts = [...new Set([controller, controllers])];
  return mounts.flatMap((mount) => foldersAlong(join(root, mount), path, 1));
}

function foldersAlong(mount: string, path: string, version: Group['version']): Group[] {
  const names = path.split('/').filter((name) => name !== '' && name !== '..');
  return Array.from({ length: names.length + 1 }, (_, above) => {
    return { folder: join(mount, ...names.slice(0, names.length - above)), version };
  });
}
