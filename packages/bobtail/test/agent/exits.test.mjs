/** A process may end inside of what is hooked: it ends as it would alone, and leaves a trace. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { nodes, run, traces } from './nodes.mjs';

/** How each way ends, and how many traces there are then: workers have their own. */
const WAYS = {
  reaction: { code: 11 },
  tick: { code: 12 },
  microtask: { code: 13 },
  collection: { code: 14 },
  finalizer: { code: 15 },
  miss: { code: 16 },
  compiled: { code: 17 },
  pool: { code: 18 },
  long: { code: 19 },
  twice: { code: 20 },
  thrown: { code: 1 },
  thrownBack: { code: 21 },
  workers: { code: 22, traces: 4 },
  terminated: { code: 23, traces: 5 },
  killed: { code: null, signal: 'SIGKILL' },
  aborted: { code: null, signal: 'SIGABRT' },
};

for (const node of nodes) {
  const version = execFileSync(node, ['-v'], { encoding: 'utf8' }).trim();
  test(`a process ends as it would alone (${version})`, async (t) => {
    for (const [way, { code, signal = null, traces: count = 1 }] of Object.entries(WAYS)) {
      await t.test(way, async () => {
        const env = { EXIT_WAY: way, BOBTAIL_NOT_RUNNING: '1' };
        const [alone, recorded] = await Promise.all(
          [false, true].map((record) => run(node, 'exits.cjs', { env, record })),
        );
        assert.deepEqual([alone.code, alone.signal], [code, signal], alone.stderr);
        assert.deepEqual([recorded.code, recorded.signal], [code, signal], recorded.stderr);
        assert.equal(recorded.stdout, alone.stdout);
        if (signal !== 'SIGABRT') assert.equal(recorded.stderr, alone.stderr);
        // To be read at all, each record must be whole.
        const all = traces(recorded.folder);
        assert.equal(all.length, count);
        for (const { header, records } of all) {
          const kinds = new Set(records.map(({ type }) => type));
          for (const kind of ['loop-begin', 'poll']) assert.ok(kinds.has(kind), [...kinds].join());
          if (header.thread === 0) assert.ok(kinds.has('micro'), [...kinds].join());
        }
      });
    }
  });
}
