// The tables of kept runs in turns are what their command prints.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

for (const number of [16, 17, 18, 19, 20]) {
  const run = `bench/runs/2026-11-29-boost-${number}`;
  test(`${run} is told as it was`, () => {
    const args = ['bench/boost/in-turns.mjs', run];
    const told = execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
    assert.equal(told, readFileSync(join(root, run, 'in-turns.md'), 'utf8'));
  });
}

for (const { numbers, table } of [
  { numbers: [18, 19], table: 'with-boost-18.md' },
  { numbers: [20], table: 'by-service.md' },
  { numbers: [18, 19, 20], table: 'with-boost-18-and-19.md' },
]) {
  test(`what ${numbers} say by service is told as it was in ${table}`, () => {
    const runs = numbers.map((number) => `bench/runs/2026-11-29-boost-${number}`);
    const args = ['bench/boost/runs-in-turns.mjs', ...runs];
    const told = execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
    assert.equal(told, readFileSync(join(root, runs.at(-1), table), 'utf8'));
  });
}
