// A load that no loop can be kept at is refused before anything is started.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('run.mjs', import.meta.url));

test('a utilisation that is none is named, and nothing is begun', () => {
  for (const utilisation of ['0', '1', 'half']) {
    const args = [script, '--utilisation', utilisation, '--out', '/nonexistent/run'];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    assert.equal(stderr, `--utilisation is ${utilisation}, not between 0 and 1\n`);
    assert.equal(status, 64);
  }
});
