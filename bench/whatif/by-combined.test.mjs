// The kept tables of answers by what Combined left are what their command prints.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
for (const run of ['2026-11-29-chance', '2026-11-29-settings', '2026-11-29-schemes-14/chances']) {
  test(`${run} is told as it was`, () => {
    const args = ['bench/whatif/by-combined.mjs', join('bench/runs', run)];
    const told = execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
    assert.equal(told, readFileSync(join(root, 'bench/runs', run, 'by-combined.md'), 'utf8'));
  });
}

test('how busy loops are is told of answers under a change, of several folders together', () => {
  const run = join('bench/runs', '2026-11-30-no-hold');
  const folders = readdirSync(join(root, run), { withFileTypes: true })
    .filter((one) => one.isDirectory())
    .map(({ name }) => join(run, name))
    .sort();
  const args = ['bench/whatif/by-combined.mjs', '--busy', ...folders];
  const told = execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  assert.equal(told, readFileSync(join(root, run, 'by-busy.md'), 'utf8'));
});
