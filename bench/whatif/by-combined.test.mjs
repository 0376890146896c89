// The kept tables of answers by what Combined left are what their command prints.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Holds what the command prints with these arguments to a kept file. */
function isToldAs(kept, args) {
  const command = ['bench/whatif/by-combined.mjs', ...args];
  const told = execFileSync(process.execPath, command, { cwd: root, encoding: 'utf8' });
  assert.equal(told, readFileSync(join(root, kept), 'utf8'));
}

for (const name of ['2026-11-29-chance', '2026-11-29-settings', '2026-11-29-schemes-14/chances']) {
  test(`${name} is told as it was`, () => {
    const run = join('bench/runs', name);
    isToldAs(join(run, 'by-combined.md'), [run]);
  });
}

test('how busy loops are is told of answers under a change, of several folders together', () => {
  const run = join('bench/runs', '2026-11-30-no-hold');
  const folders = readdirSync(join(root, run), { withFileTypes: true })
    .filter((one) => one.isDirectory())
    .map(({ name }) => join(run, name))
    .sort();
  isToldAs(join(run, 'by-busy.md'), ['--busy', ...folders]);
});
