// What cannot be measured is refused before anything is started.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('run.mjs', import.meta.url));

function refused(...args) {
  const all = [script, ...args, '--out', '/nonexistent/run'];
  return spawnSync(process.execPath, all, { encoding: 'utf8' });
}

test('a utilisation that is none is named, and nothing is begun', () => {
  for (const utilisation of ['0', '1', 'half']) {
    const { status, stderr } = refused('--utilisation', utilisation);
    assert.equal(stderr, `--utilisation is ${utilisation}, not between 0 and 1\n`);
    assert.equal(status, 64);
  }
});

test('a service that is not there is named beside those that are', () => {
  const { status, stderr } = refused('--services', 'cpu,blocking');
  assert.equal(stderr, 'no service blocking; there are cpu,redis,disk,postgres\n');
  assert.equal(status, 64);
});
