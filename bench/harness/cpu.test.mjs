// CPU time of the threads of a process that may run on one core alone.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { coresOf, cpuNs, cpuNsOn, pinThread, threadNs } from './cpu.mjs';

/** Of the main thread; it is idle when it says so. */
const BUSY_NS = 200e6;
const BUSY = `
  while (process.cpuUsage().user * 1e3 < ${BUSY_NS});
  console.log('done');
  setInterval(() => {}, 1000);
`;

test('threads that may run elsewhere do not count, nor does who has ended', async () => {
  const child = spawn(process.execPath, ['-e', BUSY], { stdio: ['ignore', 'pipe', 'inherit'] });
  const { pid } = child;
  const ended = once(child, 'exit');
  const own = coresOf(process.pid, process.pid);
  const cpu = Number.parseInt(own, 10);
  // Where there is one CPU alone, all threads are on it.
  const isElsewhere = own !== String(cpu);
  try {
    await Promise.race([once(child.stdout, 'data'), ended]);
    assert.equal(cpuNsOn(pid, cpu) === 0, isElsewhere);
    pinThread(pid, cpu);
    const ofMainNs = threadNs(pid, pid);
    assert.ok(ofMainNs > BUSY_NS / 2, `${ofMainNs}`);
    assert.ok(cpuNsOn(pid, cpu) >= ofMainNs);
    assert.equal(cpuNsOn(pid, cpu) < cpuNs(pid), isElsewhere);
    assert.equal(cpuNsOn(pid, cpu + 1), 0);
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
  assert.equal(cpuNsOn(pid, cpu), 0);
});
