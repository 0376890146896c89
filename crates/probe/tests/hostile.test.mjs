// The addon cannot hurt: whatever order things happen in and however the process ends, it ends as
// it would without, and what was recorded until then is read.
//
// BOBTAIL_SEEDS  how many made-up orders are tried on each Node (default 4)

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { describe, it } from 'node:test';
import { launch, nodes, read, temporary, traces } from './observed.mjs';

const seeds = Number(process.env.BOBTAIL_SEEDS ?? 4);

/** Runs a scenario to whatever end it has. */
function end(node, out, name, how = {}) {
  const child = launch(node, out, name, { script: 'hostile.cjs', ...how });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (text += data));
  return new Promise((resolve) =>
    child.on('close', (code, signal) => resolve({ code, signal, text })),
  );
}

for (const node of nodes) {
  const version = execFileSync(node, ['-p', 'process.version'], { encoding: 'utf8' }).trim();
  describe(`hostile to the probe in ${version}`, () => {
    for (let seed = 1; seed <= seeds; seed++) {
      it(`stops, starts, pauses and goes on in order ${seed}`, async (t) => {
        const out = temporary(t);
        const { code, signal, text } = await end(node, out, 'shuffle', { rest: [`${seed}`] });
        assert.deepEqual({ code, signal }, { code: 0, signal: null }, text);
        const files = traces(out);
        assert.equal(files.length, Number(text), 'as many as were started');
        // Reading checks each record.
        const all = files.map((file) => read(path.join(out, file)));
        assert.ok(all.some((trace) => trace.of('poll').length > 0));
      });
    }

    it('process.exit inside a request keeps its code', async (t) => {
      const out = temporary(t);
      const { code, signal, text } = await end(node, out, 'exit-inside');
      assert.deepEqual({ code, signal }, { code: 7, signal: null }, text);
      const [trace] = traces(out).map((file) => read(path.join(out, file)));
      assert.ok(trace.of('loop-begin').some((record) => record.kind === 'read'));
    });

    it('running out of memory ends as without the probe, and the trace is read', async (t) => {
      const out = temporary(t);
      const flags = ['--max-old-space-size=40'];
      const { code, signal, text } = await end(node, out, 'out-of-memory', { flags });
      assert.deepEqual({ code, signal }, { code: null, signal: 'SIGABRT' }, text);
      assert.match(text, /JavaScript heap out of memory/);
      const [trace] = traces(out).map((file) => read(path.join(out, file)));
      assert.ok(trace.of('gc').length > 3);
    });
  });
}
