/** What is told of the heap of a recorded thread: its bounds, and the flags that set them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heapFlags, splitOptions } from '../../dist/agent/heap.js';
import { json, nodes, run } from './nodes.mjs';

test('flags of the heap are told, others are not', () => {
  const options = [
    '--max-old-space-size=256',
    '--max_semi_space_size=32',
    '--max-semi-space-size',
    '64',
    '--expose-gc',
    '--no-incremental-marking',
    '--nominor-ms',
    '--heapsnapshot-signal=SIGUSR2',
    '--require',
    './max-old-space-size.js',
    '--max-http-header-size=8192',
  ];
  assert.deepEqual(heapFlags(options), [
    '--max-old-space-size=256',
    '--max_semi_space_size=32',
    '--max-semi-space-size=64',
    '--expose-gc',
    '--no-incremental-marking',
    '--nominor-ms',
  ]);
});

test('NODE_OPTIONS is split as Node splits it', () => {
  const text = '  --require "/a b/c \\"d\\".js" --max-old-space-size=99 --x="1 2"';
  const words = ['--require', '/a b/c "d".js', '--max-old-space-size=99', '--x=1 2'];
  assert.deepEqual(splitOptions(text), words);
});

for (const node of nodes) {
  test(`the process file tells the heap (${node})`, async () => {
    const env = { NODE_OPTIONS: '--max-old-space-size=300' };
    const flags = ['--max-semi-space-size=8'];
    const { code, stderr, folder, pid } = await run(node, 'self.cjs', { env, flags });
    assert.equal(code, 0, stderr);
    const { heap } = json(folder, `process-${pid}-0.json`);
    assert.deepEqual(heap.flags, ['--max-old-space-size=300', '--max-semi-space-size=8']);
    assert.equal(heap.semiSpaceBytes, 8 * 2 ** 20);
    // The old space and the young generation.
    const mb = heap.heapSizeLimitBytes / 2 ** 20;
    assert.ok(mb >= 300 && mb <= 300 + 3 * 8 + 8, `${mb} MB`);
  });
}
