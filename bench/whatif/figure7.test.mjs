// The figures in the docs are what their commands draw, of the runs that the docs name.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const COMMAND = /^ {4}node (bench\/whatif\/figure7\.mjs .*) --out (\S+)$/gm;

test('figure 7 is drawn anew as it stands in the docs, for p99.9 and for p99', () => {
  const commands = [
    ...readFileSync(join(root, 'docs/design/schemes.md'), 'utf8').matchAll(COMMAND),
  ];
  assert.equal(commands.length, 2);
  const folder = mkdtempSync(join(tmpdir(), 'bobtail-figure7-'));
  try {
    for (const [, args, figure] of commands) {
      const drawn = join(folder, 'drawn.svg');
      execFileSync(process.execPath, [...args.split(' '), '--out', drawn], { cwd: root });
      assert.equal(readFileSync(drawn, 'utf8'), readFileSync(join(root, figure), 'utf8'));
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
