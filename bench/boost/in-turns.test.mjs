// The tables of kept runs in turns are what their command prints.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

const runOf = (number) => `bench/runs/2026-11-29-boost-${number}`;

function assertPrinted(table, script, runs) {
  const args = [join('bench/boost', script), ...runs];
  const told = execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  assert.equal(told, readFileSync(join(root, runs.at(-1), table), 'utf8'));
}

for (const run of [16, 17, 18, 19, 20].map(runOf)) {
  test(`${run} is told as it was`, () => assertPrinted('in-turns.md', 'in-turns.mjs', [run]));
}

for (const { numbers, table } of [
  { numbers: [18, 19], table: 'with-boost-18.md' },
  { numbers: [20], table: 'by-service.md' },
  { numbers: [18, 19, 20], table: 'with-boost-18-and-19.md' },
]) {
  test(`what ${numbers} say by service is told as it was in ${table}`, () => {
    assertPrinted(table, 'runs-in-turns.mjs', numbers.map(runOf));
  });
}
