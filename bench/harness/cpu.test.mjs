// CPU time of the threads of a process that may run on one core alone.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import os from 'node:os';
import { test } from 'node:test';
import { cpuNs, cpuNsOn, pinThread, threadNs } from './cpu.mjs';

/** Of the main thread; it is idle when it says so. */
const BUSY_NS = 200e6;
const BUSY = `
  while (process.cpuUsage().user * 1e3 < ${BUSY_NS});
  console.log('done');
  setInterval(() => {}, 1000);
`;

/** The first CPU that this process may run on. */
function ownCpu() {
  const status = readFileSync('/proc/self/status', 'utf8');
  return Number(/^Cpus_allowed_list:\s*(\d+)/m.exec(status)[1]);
}

test('threads that may run elsewhere do not count, nor does who has ended', async (t) => {
  if (os.availableParallelism() < 2) {
    t.skip('one CPU: all threads are on it alone');
    return;
  }
  const child = spawn(process.execPath, ['-e', BUSY], { stdio: ['ignore', 'pipe', 'inherit'] });
  const { pid } = child;
  const ended = once(child, 'exit');
  const cpu = ownCpu();
  try {
    await Promise.race([once(child.stdout, 'data'), ended]);
    assert.equal(cpuNsOn(pid, cpu), 0);
    pinThread(pid, cpu);
    const ofMainNs = threadNs(pid, pid);
    assert.ok(ofMainNs > BUSY_NS / 2, `${ofMainNs}`);
    assert.ok(cpuNsOn(pid, cpu) >= ofMainNs);
    assert.ok(cpuNsOn(pid, cpu) < cpuNs(pid));
    assert.equal(cpuNsOn(pid, cpu + 1), 0);
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
  assert.equal(cpuNsOn(pid, cpu), 0);
});
