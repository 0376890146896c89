/**
 * The agent must not be noticed: the same application, with and without it, sees the same.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { json, nodes, run } from './nodes.mjs';

for (const node of nodes) {
  for (const detail of ['full', 'loop']) {
    test(`behaviour is unchanged with --detail ${detail} (${node})`, async () => {
      const bare = await run(node, 'behaviour.cjs', { record: false });
      const recorded = await run(node, 'behaviour.cjs', { env: { BOBTAIL_DETAIL: detail } });
      assert.ok(!recorded.stderr.includes('bobtail: '), recorded.stderr.slice(0, 500));
      assert.equal(recorded.signal, null);
      assert.deepEqual(JSON.parse(recorded.stdout), JSON.parse(bare.stdout));
      assert.equal(recorded.code, bare.code);
      const { mechanisms } = json(recorded.folder, `process-${recorded.pid}-0.json`);
      const failed = mechanisms.filter(({ ok }) => !ok).map(({ name }) => name);
      assert.ok(
        mechanisms.some(({ name, ok }) => name === 'probe' && ok),
        JSON.stringify(failed),
      );
    });
  }

  test(`a recording that can not start is told in one line (${node})`, async () => {
    const bare = await run(node, 'behaviour.cjs', { record: false });
    const failed = await run(node, 'behaviour.cjs', { folder: '/nonexistent/recording' });
    const lines = failed.stderr.split('\n').filter((line) => line.includes('bobtail: '));
    assert.equal(lines.length, 1, lines.join());
    assert.match(lines[0], /^bobtail: not recording this process: ./);
    assert.deepEqual(JSON.parse(failed.stdout), JSON.parse(bare.stdout));
    assert.equal(failed.code, 0);
  });
}
