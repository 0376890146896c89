/** What is told of the heap of a recorded thread: its bounds, and the flags that set them. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { totalmem } from 'node:os';
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

/** As Node tells a worker without limits of its own, who has V8's defaults, too. */
function defaultSemiSpaceBytes(node) {
  const script = `new (require('worker_threads').Worker)(
    "console.log(require('worker_threads').resourceLimits.maxYoungGenerationSizeMb)",
    { eval: true })`;
  const youngMb = Number(execFileSync(node, ['-e', script], { encoding: 'utf8' }));
  return 2 ** (20 + Math.ceil(Math.log2(youngMb / 3)));
}

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

  test(`the semi-space in force is told without its flag (${node})`, async () => {
    const truth = defaultSemiSpaceBytes(node);
    const of = async (app, flags, thread = 0) => {
      const { code, stderr, folder, pid } = await run(node, app, { flags });
      assert.equal(code, 0, stderr);
      return json(folder, `process-${pid}-${thread}.json`).heap;
    };
    assert.equal((await of('self.cjs', ['--max-old-space-size=300'])).semiSpaceBytes, truth);
    // With less memory V8's default of the old space may not be known, and so neither is this.
    const isLarge = Math.min(totalmem(), process.constrainedMemory() || totalmem()) >= 2 ** 34;
    const { semiSpaceBytes } = await of('self.cjs', []);
    if (isLarge || semiSpaceBytes !== null) assert.equal(semiSpaceBytes, truth);
    assert.equal((await of('self.cjs', ['--max-heap-size=500'])).semiSpaceBytes, null);
    // V8 makes a power of two of a third of the young generation.
    const ofWorker = await of('worker-limits.cjs', [], 1);
    assert.deepEqual(
      [ofWorker.heapSizeLimitBytes, ofWorker.semiSpaceBytes],
      [82 * 2 ** 20, 4 * 2 ** 20],
    );
  });
}
