// The kept table of answers by what Combined left is what its command prints.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const RUN = 'bench/runs/2026-11-29-chance';

test(`${RUN} is told as it was`, () => {
  const args = ['bench/whatif/by-combined.mjs', RUN];
  const told = execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  assert.equal(told, readFileSync(join(root, RUN, 'by-combined.md'), 'utf8'));
});
