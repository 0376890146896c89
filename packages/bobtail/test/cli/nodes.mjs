/** The Node binaries that services are recorded with, and what they are called. */
import { execFileSync } from 'node:child_process';

/** `{ path, version }` of `BOBTAIL_TEST_NODES`, separated by colons, or of the running one. */
export const nodes = (process.env.BOBTAIL_TEST_NODES ?? process.execPath)
  .split(':')
  .map((path) => ({
    path,
    version: execFileSync(path, ['--version'], { encoding: 'utf8' }).trim(),
  }));
