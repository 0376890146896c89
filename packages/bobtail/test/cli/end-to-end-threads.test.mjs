/** Worker threads in one recording: those that serve, and those that compute for them. */
import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { get, load } from './load.mjs';
import { nodes } from './nodes.mjs';
import { fixture, reportOf, startRecording } from './recordings.mjs';
import { runBobtail } from './run-bobtail.mjs';

/** What a job of the pool computes at least. */
const COMPUTED_NS = 2_000_000;
const workers = ['worker 1', 'worker 2'];

for (const { path, version } of nodes) {
  test(`${version}: a request waits for a worker thread by its name`, async (t) => {
    const service = await startRecording(t, [path, fixture('threads.cjs'), 'pool']);
    assert.equal(await load(service.port, { count: 40, connections: 1 }), 40);
    const { code, signal, stderr } = await service.end('SIGTERM');
    assert.deepEqual({ code, signal }, { code: null, signal: 'SIGTERM' }, stderr);
    const { requests, run, io, losses } = await reportOf(service.folder);
    const { count, complete, inferred } = requests;
    assert.deepEqual({ count, complete, inferred }, { count: 40, complete: 40, inferred: 0 });
    assert.deepEqual(losses, {});
    const waits = io.filter(({ kind }) => kind === 'message');
    // The report tells them together, the explanation of a request each.
    assert.deepEqual(new Set(waits.map(({ resource }) => resource)), new Set(['worker :n']));
    const ioNs = waits
      .filter((row) => row.class === 'nontail')
      .reduce((sum, row) => sum + row.ioNs, 0);
    // Half of it, since the post is noted a moment after the worker could have seen it.
    assert.ok(ioNs >= COMPUTED_NS / 2, `${ioNs} ns`);
    const threads = run.processes.map(({ thread, requests }) => [thread, requests]);
    assert.deepEqual(
      new Map(threads),
      new Map([
        [0, 40],
        [1, 0],
        [2, 0],
      ]),
    );
    const one = await runBobtail(['explain', service.folder, '--slowest', '1', '--json']);
    const { segments } = JSON.parse(one.stdout);
    const [wait, ...more] = segments.filter(
      ({ kind, type }) => kind === 'io' && type === 'message',
    );
    assert.ok(workers.includes(wait?.resource), one.stdout);
    assert.deepEqual([wait.shared, wait.inferred, more], [false, false, []]);
  });

  test(`${version}: --max-total bounds a service that makes a thread per request`, async (t) => {
    const MAX_TOTAL_BYTES = 12 * 2 ** 20;
    const command = [path, fixture('threads.cjs'), 'short'];
    const service = await startRecording(t, command, { flags: ['--max-total', '12m'] });
    assert.equal(await load(service.port, { count: 30, connections: 1 }), 30);
    const { stderr } = await service.end('SIGTERM');
    const names = readdirSync(service.folder);
    const of = (pattern) => names.filter((name) => pattern.test(name));
    const blocks = of(/\.trace$/).map((name) => statSync(join(service.folder, name)).blocks);
    const bytes = blocks.reduce((sum, count) => sum + count * 512, 0);
    assert.ok(bytes <= MAX_TOTAL_BYTES, `${bytes} bytes`);
    // Five of 2.36 MB.
    const traces = blocks.length;
    assert.equal(traces, 5, names.join());
    assert.equal(of(/^process-/).length, traces, names.join());
    const { requests, losses, findings } = await reportOf(service.folder);
    assert.deepEqual([requests.count, requests.complete], [30, 30]);
    assert.deepEqual(losses, { 'event-loops': 31 - traces });
    const finding = findings.find(({ code }) => code === 'not-all-recorded');
    assert.match(finding.sentence, /^26 threads or processes were not recorded/);
    assert.equal(
      stderr.match(/not recording further threads .*--max-total 12m/g)?.length,
      1,
      stderr,
    );
    assert.match(stderr, / · 26 more event loops not recorded: --max-total/);
  });

  test(`${version}: servers in worker threads have a trace each`, async (t) => {
    const service = await startRecording(t, [path, fixture('threads.cjs'), 'servers']);
    const [, second] = /second (\d+)/.exec(await service.until('listening'));
    const answers = { 1: 0, 2: 0 };
    for (const port of [service.port, second]) {
      for (let n = 0; n < 10; n += 1) answers[await get(port, '/')] += 1;
    }
    await service.end('SIGTERM');
    assert.deepEqual(answers, { 1: 10, 2: 10 });
    const { requests, run } = await reportOf(service.folder);
    assert.deepEqual([requests.count, requests.complete, requests.inferred], [20, 20, 0]);
    const served = run.processes.map(({ thread, requests }) => [thread, requests]);
    assert.deepEqual(served.filter(([, requests]) => requests > 0).sort(), [
      [1, 10],
      [2, 10],
    ]);
  });

  test(`${version}: a thread terminated amid a request leaves what it recorded`, async (t) => {
    const service = await startRecording(t, [path, fixture('threads.cjs'), 'doomed']);
    const [, second] = /second (\d+)/.exec(await service.until('listening'));
    for (let n = 0; n < 10; n += 1) assert.equal(await get(second, '/'), '1');
    await assert.rejects(get(second, '/hang'));
    for (let n = 0; n < 5; n += 1) assert.equal(await get(service.port, '/'), 'ended');
    const { code, signal, stderr } = await service.end('SIGTERM');
    assert.deepEqual({ code, signal }, { code: null, signal: 'SIGTERM' }, stderr);
    const { requests, run, losses } = await reportOf(service.folder);
    const { count, complete, truncated, unfinished } = requests;
    const all = { count: 15, complete: 15, truncated: 0, unfinished: 1 };
    assert.deepEqual({ count, complete, truncated, unfinished }, all);
    // What tells a thread's end is a message of Node's own.
    assert.ok(requests.inferred <= 5, `${requests.inferred} inferred`);
    assert.deepEqual(losses, {});
    const served = run.processes.map(({ thread, requests }) => [thread, requests]);
    const expected = [
      [0, 5],
      [1, 10],
    ];
    assert.deepEqual(served.filter(([, requests]) => requests > 0).sort(), expected);
  });
}
