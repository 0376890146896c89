// CPU time of the threads of a process that may run on one core alone.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import os from 'node:os';
import { test } from 'node:test';
import { cpuNs, cpuNsOn, pinThread, threadNs } from './cpu.mjs';

const BUSY = `
  const until = performance.now() + 200;
  while (performance.now() < until);
  console.log('done');
  setInterval(() => {}, 1000);
`;

test('threads that may run elsewhere do not count, nor does who has ended', async (t) => {
  if (os.availableParallelism() < 2) {
    t.skip('one CPU: all threads are on it alone');
    return;
  }
  const child = spawn(process.execPath, ['-e', BUSY], { stdio: ['ignore', 'pipe', 'inherit'] });
  const { pid } = child;
  try {
    await once(child.stdout, 'data');
    assert.equal(cpuNsOn(pid, 0), 0);
    pinThread(pid, 0);
    const ofMainNs = threadNs(pid, pid);
    assert.ok(ofMainNs > 100e6, `${ofMainNs}`);
    assert.ok(cpuNsOn(pid, 0) >= ofMainNs);
    assert.ok(cpuNsOn(pid, 0) < cpuNs(pid));
    assert.equal(cpuNsOn(pid, 1), 0);
  } finally {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  assert.equal(cpuNsOn(pid, 0), 0);
});
