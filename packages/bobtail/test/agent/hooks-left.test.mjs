/**
 * Between two bursts no hook is left: told by V8's own counts of calls, by Node's and V8's own
 * lists of what they call back, and by the kernel, not by Bobtail.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { hookWords } from './hook-words.mjs';
import { json, nodes, run } from './nodes.mjs';

const AGENT = fileURLToPath(new URL('../../dist/agent', import.meta.url));
const FLAGS = ['--expose-internals', '--expose-gc', '--no-warnings'];
/** Long enough for the work in either part, and for the watchdog to be seen at rest. */
const BURSTS = '600/300';
/** At least every 25 ms while it is awake; it may be waking up as the burst ends, and wait. */
const WAITS_MAX = 3;

/** Wrappers that stay in place, since modules keep what they import, and only pass on. */
const PASSING_ON = new Set([
  'agent-queue.addRequest',
  'agent-queue.onSocket',
  'agent-queue.take',
  'exchange.finish',
  'microtasks.queueMicrotask',
  'passed-sockets.onRequest',
  'requests.end',
  'stamp.Stamped',
  'ticks.nextTick',
  'timer-lists.callback',
  'timer-lists.get',
  'timer-lists.onTimeout',
  'timer-lists.prepareNext',
  'timer-lists.set',
  'timers.<instance_members_initializer>',
  'timers.TimerStamp',
  'timers.callback',
  'timers.create',
  'timers.forget',
  'timers.knows',
  'timers.onImmediate',
  'timers.onTimeout',
]);
/** What is at work only within a burst. */
const HOOKS = [
  'promises.init',
  'promises.before',
  'requests.arrive',
  'stream.loopBegin',
  'stream.micro',
];

for (const node of nodes) {
  const version = execFileSync(node, ['-v'], { encoding: 'utf8' }).trim();
  test(`no hook is left between two bursts (${version})`, async (t) => {
    const env = {
      BOBTAIL_BURSTS: BURSTS,
      BOBTAIL_NOT_RUNNING: '1',
      BOBTAIL_TEST_AGENT: AGENT,
      BOBTAIL_TEST_HOOK_WORDS: hookWords(t),
    };
    const end = await run(node, 'hooks-left.cjs', { flags: FLAGS, env });
    assert.equal(end.code, 0, end.stderr);
    const { within, between } = JSON.parse(end.stdout);
    const { mechanisms } = json(end.folder, `process-${end.pid}-0.json`);
    const follows = mechanisms.find(({ name }) => name === 'time not running').ok;

    for (const one of within) {
      for (const name of HOOKS) assert.ok(one.calls[name] > 0, `${name} within a burst`);
      // The table of inline caches, and V8's event logger.
      assert.ok(one.hooks.words > 30, `${one.hooks.words} words of the isolate`);
      assert.ok(one.hooks.vectors >= 2, 'callbacks before and after collections');
      assert.ok(one.events > 0 && one.batches > 0);
      assert.equal(one.perfEvents, follows ? 1 : 0);
    }
    for (const { calls, waits, waitedMs, ...one } of between) {
      const called = Object.keys(calls).filter((name) => !PASSING_ON.has(name));
      assert.deepEqual(called, [], 'only wrappers that pass on are called');
      assert.deepEqual(one, {
        hooks: { words: 0, vectors: 0 },
        asyncHooks: 0,
        events: 0,
        bytes: 0,
        batches: 0,
        perfEvents: 0,
        timers: 0,
      });
      for (const [name, count] of Object.entries(waits)) {
        assert.ok(count <= WAITS_MAX, `${name} waited ${count} times in ${waitedMs} ms`);
      }
    }
  });
}
