/** What the recorder notes of V8's own threads: how long they ran, and when that was the loop's. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { V8ThreadsWatch, writeV8Threads } from '../../dist/cli/record/v8-threads.js';
import { makeFolder } from './run-bobtail.mjs';

const PID = 70;
const MS = 1_000_000;

/** A made-up procfs and its time. */
class System {
  #atNs = 0;

  constructor(t) {
    this.proc = makeFolder(t);
    this.watch = new V8ThreadsWatch({ proc: this.proc, nowNs: () => this.#atNs });
    t.after(() => this.watch.stop());
  }

  /** The CPUs of the process, as a mask. */
  allow(mask) {
    const folder = join(this.proc, String(PID));
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'status'), `Name:\tnode\nCpus_allowed:\t${mask}\nThreads:\t9\n`);
  }

  thread(id, name, ranNs) {
    const folder = join(this.proc, String(PID), 'task', String(id));
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'comm'), `${name}\n`);
    writeFileSync(join(folder, 'schedstat'), `${ranNs} 5 6\n`);
  }

  look(afterMs) {
    this.#atNs += afterMs * MS;
    this.watch.look();
  }

  find() {
    this.watch.find(PID);
  }

  get facts() {
    return this.watch.of(PID);
  }
}

/** Two threads of V8 that began before they were found, one of the pool, and the loop's. */
function started(t, mask = '1') {
  const system = new System(t);
  system.allow(mask);
  system.thread(PID, 'node', 9_000 * MS);
  system.thread(71, 'node-V8Worker', 100 * MS);
  system.thread(72, 'node-V8Worker', 200 * MS);
  system.thread(73, 'libuv-worker', 300 * MS);
  system.find();
  return system;
}

test('on one CPU all that they run is taken from the loop', (t) => {
  const system = started(t);
  system.look(50);
  system.thread(71, 'node-V8Worker', 110 * MS);
  system.thread(72, 'node-V8Worker', 220 * MS);
  system.thread(73, 'libuv-worker', 340 * MS);
  system.thread(PID, 'node', 9_020 * MS);
  system.look(50);
  system.look(50);
  const taken = [{ fromNs: 50 * MS, untilNs: 100 * MS, takenNs: 30 * MS }];
  assert.deepEqual(system.facts, { cpus: 1, ranNs: 30 * MS, taken });
});

test('on two CPUs it is what does not fit on one', (t) => {
  const system = started(t, '00000000,00000101');
  system.thread(71, 'node-V8Worker', 140 * MS);
  system.look(50);
  assert.deepEqual(system.facts, { cpus: 2, ranNs: 40 * MS, taken: [] });
  system.thread(71, 'node-V8Worker', 180 * MS);
  system.thread(72, 'node-V8Worker', 225 * MS);
  system.look(50);
  const taken = [{ fromNs: 50 * MS, untilNs: 100 * MS, takenNs: 15 * MS }];
  assert.deepEqual(system.facts, { cpus: 2, ranNs: 105 * MS, taken });
});

test('nothing is told where there are CPUs for all, or nobody of that name', (t) => {
  assert.equal(started(t, 'f').facts, null);
  const system = new System(t);
  system.allow('1');
  system.thread(PID, 'node', 0);
  system.find();
  system.look(50);
  assert.equal(system.facts, null);
  assert.equal(new V8ThreadsWatch({ proc: system.proc }).of(PID), null);
});

test('threads come and go, and the process ends', (t) => {
  const system = started(t);
  rmSync(join(system.proc, String(PID), 'task', '71'), { recursive: true });
  system.thread(74, 'node-V8Worker', 500 * MS);
  system.thread(72, 'node-V8Worker', 210 * MS);
  system.look(50);
  system.find();
  system.thread(74, 'node-V8Worker', 505 * MS);
  system.look(50);
  rmSync(join(system.proc, String(PID)), { recursive: true });
  system.find();
  system.look(50);
  const taken = [{ fromNs: 0, untilNs: 100 * MS, takenNs: 15 * MS }];
  assert.deepEqual(system.facts, { cpus: 1, ranNs: 15 * MS, taken });
});

test('no more is taken than the time that there was', (t) => {
  const system = started(t);
  system.thread(71, 'node-V8Worker', 400 * MS);
  system.look(50);
  assert.equal(system.facts.taken[0].takenNs, 50 * MS);
});

test('the process file gets it', (t) => {
  const system = started(t);
  const folder = makeFolder(t);
  const path = join(folder, `process-${PID}-0.json`);
  const process = { pid: PID, thread: 0, node: 'v24.0.0', mechanisms: [], throttled: null };
  writeFileSync(path, JSON.stringify(process));
  system.thread(71, 'node-V8Worker', 120 * MS);
  system.look(50);
  writeV8Threads(folder, system.watch);
  const v8Threads = {
    cpus: 1,
    ranNs: 20 * MS,
    taken: [{ fromNs: 0, untilNs: 50 * MS, takenNs: 20 * MS }],
  };
  assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')), { ...process, v8Threads });
});

test('a look that others delay is not taken for a dear one', async (t) => {
  const { proc } = started(t);
  const never = new Int32Array(new SharedArrayBuffer(4));
  let looks = 0;
  // As when V8's threads have the recorder's CPU: it passes, and nothing is spent.
  const nowNs = () => {
    Atomics.wait(never, 0, 0, 20);
    looks += 1;
    return Number(process.hrtime.bigint());
  };
  const watch = new V8ThreadsWatch({ proc, nowNs });
  t.after(() => watch.stop());
  watch.find(PID);
  looks = 0;
  await sleep(1000);
  // At 50 ms and the delay; at the most it would be one a second.
  assert.ok(looks >= 5, `${looks} looks`);
});
