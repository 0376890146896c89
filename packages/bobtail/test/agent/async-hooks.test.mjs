/**
 * Hooks on promises of the application and of its AsyncLocalStorage, beside those of the recording.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { causes, nodes, requests, run, traces } from './nodes.mjs';

/** Loaded before the agent where an APM would be. */
const early = fileURLToPath(new URL('apps/early-storage.cjs', import.meta.url));
const RECURSIONS = ['awaits', 'returns', 'chains', 'constructs', 'plain'];

for (const node of nodes) {
  const version = execFileSync(node, ['-v'], { encoding: 'utf8' }).trim();

  for (const STORAGE of ['none', 'preloaded', 'early', 'late']) {
    test(`caught stack overflows end nothing, storage ${STORAGE} (${version})`, async () => {
      const isPreloaded = STORAGE === 'preloaded';
      const env = { STORAGE, NODE_OPTIONS: isPreloaded ? `--require "${early}"` : '' };
      const bare = await run(node, 'overflow.cjs', { record: false, env });
      const recorded = await run(node, 'overflow.cjs', { env });
      assert.equal(bare.code, 0, bare.stderr);
      assert.match(bare.stdout, /^200 \/awaits caught 4 as /);
      assert.equal(recorded.stdout, bare.stdout, recorded.stderr.slice(0, 500));
      assert.deepEqual([recorded.code, recorded.signal], [0, null]);
      const [trace] = traces(recorded.folder);
      const all = requests(trace);
      assert.deepEqual(
        all.map(({ name, status }) => `${name} ${status}`),
        [...RECURSIONS, 'after'].map((name) => `GET /${name} 200`),
      );
      for (const { name, source, sink } of all) {
        assert.ok(causes(trace, sink.owner).includes(source.owner), name);
      }
    });
  }

  test(`hooks and storages are told what they are told unrecorded (${version})`, async () => {
    const bare = await run(node, 'async-hooks.cjs', { record: false });
    assert.equal(bare.code, 0, bare.stderr);
    for (const env of [{}, { BOBTAIL_BURSTS: '10/5' }]) {
      const recorded = await run(node, 'async-hooks.cjs', { env });
      assert.equal(recorded.code, 0, recorded.stderr);
      assert.deepEqual(JSON.parse(recorded.stdout), JSON.parse(bare.stdout));
      if (env.BOBTAIL_BURSTS !== undefined) continue;
      const [trace] = traces(recorded.folder);
      assert.ok(trace.records.some(({ type, kind }) => type === 'micro' && kind === 'promise'));
    }
  });
}
