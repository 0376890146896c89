// The figure in the docs is what its command draws, of the runs that the docs name.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const COMMAND = /^ {4}node (bench\/whatif\/figure7\.mjs .*) --out (\S+)$/m;

test('figure 7 is drawn anew as it stands in the docs', () => {
  const [, args, figure] = COMMAND.exec(readFileSync(join(root, 'docs/design/schemes.md'), 'utf8'));
  const folder = mkdtempSync(join(tmpdir(), 'bobtail-figure7-'));
  try {
    const drawn = join(folder, 'figure7.svg');
    execFileSync(process.execPath, [...args.split(' '), '--out', drawn], { cwd: root });
    assert.equal(readFileSync(drawn, 'utf8'), readFileSync(join(root, figure), 'utf8'));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
