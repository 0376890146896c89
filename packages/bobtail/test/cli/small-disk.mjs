/** A file system of a few megabytes, for what happens when a disk is full. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const isRoot = process.getuid() === 0;

/** Why it cannot be had here, for `skip`; in CI it must be had. */
export const noSmallDisk = reasonAgainst();

function reasonAgainst() {
  if (process.env.CI === 'true') return false;
  if (!isRoot) return 'needs root, to mount a small file system';
  // A user namespace of root, as in many containers, may not mount.
  const probe = spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']);
  return probe.status === 0 ? false : 'this container does not allow mounting';
}

/** Mounts one for the time of the test and returns its folder. */
export function mountSmallDisk(test, { megabytes = 20, readOnly = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'bobtail-disk-'));
  const options = `size=${megabytes}m${readOnly ? ',ro' : ''}`;
  const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]);
  test.after(() => {
    // Lazily, because a service of a failed test may still have its trace open.
    spawnSync('umount', ['--lazy', folder]);
    rmdirSync(folder);
  });
  if (status !== 0) throw new Error(`mount: ${stderr}`);
  return folder;
}
