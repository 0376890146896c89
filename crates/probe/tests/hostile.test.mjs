// The addon cannot hurt: whatever order things happen in and however the process ends, it ends as
// it would without, and what was recorded until then is read.
//
// BOBTAIL_SEEDS  how many made-up orders are tried on each Node (default 4)

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
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

/** Reads a trace: every record decodes, times and numbers go on, none is missing untold. */
function sound(file) {
  const trace = read(file);
  let last = 0;
  let told = false;
  for (const record of trace.records) {
    if (record.type === 'loss') {
      // What the probe lost it counted; what the reader finds missing nobody did.
      assert.notEqual(record.kind, 'damaged', `${file}: ${record.line}`);
      told = true;
    }
    if (record.type !== 'loop-begin' && record.type !== 'micro') continue;
    const number = Number(record.event);
    assert.ok(number > last, `${number} after ${last}: ${record.line}`);
    assert.ok(number === last + 1 || told, `none told between ${last} and ${record.line}`);
    last = number;
    told = false;
  }
  return { ...trace, numbers: last };
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
        const all = files.map((file) => sound(path.join(out, file)));
        assert.ok(all.some((trace) => trace.of('poll').length > 0));
      });
    }

    it('a worker terminated at work leaves a sound trace, and the process goes on', async (t) => {
      const out = temporary(t);
      const { code, signal, text } = await end(node, out, 'terminated');
      assert.deepEqual({ code, signal, text }, { code: null, signal: 'SIGKILL', text: '6\n' });
      const all = traces(out).map((file) => sound(path.join(out, file)));
      assert.equal(all.length, 7);
      assert.ok(all.every((trace) => trace.numbers > 0));
      for (const trace of all) assert.match(trace.text, /^closed$/m);
    });

    it('goes on after exceptions that a listener takes', async (t) => {
      const out = temporary(t);
      const { code, signal, text } = await end(node, out, 'uncaught', { rest: ['caught'] });
      assert.deepEqual({ code, signal, text }, { code: 0, signal: null, text: '50\n' });
      const [trace] = traces(out).map((file) => sound(path.join(out, file)));
      for (const kind of ['timers', 'immediates', 'pool', 'read']) {
        const begun = trace.of('loop-begin').filter((record) => record.kind === kind);
        assert.ok(begun.length > 0, kind);
      }
    });

    it('an exception that nobody takes ends as without the probe', async (t) => {
      const out = temporary(t);
      const { code, signal, text } = await end(node, out, 'uncaught');
      assert.deepEqual({ code, signal }, { code: 1, signal: null }, text);
      assert.match(text, /Error: thrown out of/);
      const [trace] = traces(out).map((file) => sound(path.join(out, file)));
      assert.ok(trace.records.length > 0);
    });

    it('process.exit inside a request keeps its code', async (t) => {
      const out = temporary(t);
      const { code, signal, text } = await end(node, out, 'exit-inside');
      assert.deepEqual({ code, signal }, { code: 7, signal: null }, text);
      const [trace] = traces(out).map((file) => read(path.join(out, file)));
      assert.ok(trace.of('loop-begin').some((record) => record.kind === 'read'));
    });

    it('goes on as often as beforeExit gives it something to do', async (t) => {
      const out = temporary(t);
      const { code, signal, text } = await end(node, out, 'restarted');
      assert.deepEqual({ code, signal, text }, { code: 0, signal: null, text: '12345 0\n' });
      const [trace] = traces(out).map((file) => sound(path.join(out, file)));
      // Not its timers: those that are due when the loop goes on run before anything is observed.
      for (const kind of ['pool', 'immediates']) {
        const begun = trace.of('loop-begin').filter((record) => record.kind === kind);
        assert.ok(begun.length >= 5, `${begun.length} of ${kind}`);
      }
      assert.match(trace.text, /^closed$/m);
    });

    it('a worker that runs out of memory ends as without the probe, and no other', async (t) => {
      const out = temporary(t);
      const { code, signal, text } = await end(node, out, 'worker-out-of-memory');
      const last = text.trimEnd().split('\n').at(-1);
      assert.deepEqual({ code, signal }, { code: 0, signal: null }, text);
      assert.equal(last, 'ERR_WORKER_OUT_OF_MEMORY 1 ok', text);
      const files = traces(out);
      assert.equal(files.length, 2);
      for (const file of files) {
        const trace = sound(path.join(out, file));
        assert.match(trace.text, /^closed$/m);
        const kind = /^\d+-0-/.test(file) ? 'read' : 'timers';
        assert.ok(
          trace.of('loop-begin').some((record) => record.kind === kind),
          kind,
        );
        if (kind === 'timers') assert.ok(trace.of('gc').length > 3);
      }
    });

    it('a snapshot near the limit of the heap is written as without the probe', async (t) => {
      const out = temporary(t);
      const flags = ['--heapsnapshot-near-heap-limit=1', '--max-old-space-size=40'];
      const options = { flags: [...flags, `--diagnostic-dir=${out}`] };
      const { code, signal, text } = await end(node, out, 'out-of-memory-large', options);
      assert.deepEqual({ code, signal }, { code: null, signal: 'SIGABRT' }, text);
      assert.match(text, /JavaScript heap out of memory/);
      const snapshots = fs.readdirSync(out).filter((file) => file.endsWith('.heapsnapshot'));
      assert.equal(snapshots.length, 1);
      const { nodes: objects } = JSON.parse(fs.readFileSync(path.join(out, snapshots[0])));
      assert.ok(objects.length > 0, 'it is whole');
      const [trace] = traces(out).map((file) => read(path.join(out, file)));
      assert.ok(trace.of('gc').length > 3);
    });

    // V8 gets to its last resort out of another allocation each time.
    const exhaustions = ['out-of-memory', ...Array(4).fill('out-of-memory-optimized')];
    for (const [index, name] of exhaustions.entries()) {
      it(`${name} ends as without the probe, and the trace is read (${index + 1})`, async (t) => {
        const out = temporary(t);
        const flags = ['--max-old-space-size=40'];
        const { code, signal, text } = await end(node, out, name, { flags });
        assert.deepEqual({ code, signal }, { code: null, signal: 'SIGABRT' }, text);
        assert.match(text, /JavaScript heap out of memory/);
        const [trace] = traces(out).map((file) => read(path.join(out, file)));
        assert.ok(trace.of('gc').length > 3);
      });
    }
  });
}
