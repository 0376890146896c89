/**
 * What answers look like, kept as files.
 *
 * After a wanted change of the output, run the test again with `UPDATE_SNAPSHOTS=1`.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGE } from './run-bobtail.mjs';

/** Fails where `text` is not what the file says. */
export function assertSnapshot(name, text) {
  const path = join(PACKAGE, 'test/cli/snapshots', name);
  if (process.env.UPDATE_SNAPSHOTS) {
    writeFileSync(path, text);
  }
  assert.equal(text, readFileSync(path, 'utf8'));
}
