/** Where files are that a service writes while it answers: in memory if there is such a place. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { memoryPlace } from '../../dist/cli/boost/memory-place.js';

const SHARED = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** With a place of the user's own, which is undefined for none. */
function placeWith(own) {
  const before = process.env.XDG_RUNTIME_DIR;
  if (own === undefined) delete process.env.XDG_RUNTIME_DIR;
  else process.env.XDG_RUNTIME_DIR = own;
  try {
    return memoryPlace();
  } finally {
    if (before === undefined) delete process.env.XDG_RUNTIME_DIR;
    else process.env.XDG_RUNTIME_DIR = before;
  }
}

test("a user's own place comes first, and only if it is a folder that can be used", (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'bobtail-own-place-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'file');
  writeFileSync(file, '');
  assert.equal(placeWith(folder), folder);
  for (const own of [undefined, '', 'relative', file, join(folder, 'none')]) {
    assert.equal(placeWith(own), SHARED, String(own));
  }
});
