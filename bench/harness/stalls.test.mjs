// What is left out around stalls of a CPU, and that one is seen.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { leaveOut } from '../../workloads/harness/leave-out.mjs';
import { LOAD_CORE } from './cpu.mjs';
import { disturbedBy, StallWatch, windowsAround } from './stalls.mjs';

test('windows begin before a stall, end after it by how long it was, and are apart', () => {
  const stalls = [
    { fromMs: 1000, lateMs: 5 },
    // Of another CPU, told later.
    { fromMs: 990, lateMs: 1 },
    { fromMs: 1300, lateMs: 50 },
    { fromMs: 1571, lateMs: 1 },
    { fromMs: 1603, lateMs: 1 },
  ];
  assert.deepEqual(windowsAround(stalls), [
    { fromMs: 970, untilMs: 1025 },
    { fromMs: 1280, untilMs: 1550 },
    { fromMs: 1551, untilMs: 1582 },
    { fromMs: 1583, untilMs: 1614 },
  ]);
  const isDisturbed = disturbedBy(stalls);
  assert.deepEqual([960, 980, 1026, 1280, 1281, 1614].map(isDisturbed), [
    false,
    true,
    false,
    false,
    true,
    false,
  ]);
});

/** Keeps a core from everybody for so long, above the watch; when, by `performance.now`. */
async function block(core, ms) {
  const spin = `const end = performance.now() + ${ms}; while (performance.now() < end);`;
  const args = ['--fifo', '95', 'taskset', '-c', String(core), process.execPath, '-e', spin];
  const fromMs = performance.now();
  await once(spawn('chrt', args, { stdio: 'inherit' }), 'exit');
  return { fromMs, untilMs: performance.now() };
}

test('a stall is told with when and how long it was, once', async (t) => {
  if (process.getuid() !== 0) return leaveOut(t, 'needs root');
  const watch = await StallWatch.start([LOAD_CORE], { profile: 'tested' });
  t.after(() => watch.stop());
  await watch.taken();
  await sleep(20);
  const { fromMs, untilMs } = await block(LOAD_CORE, 60);
  const stalls = await watch.taken();
  const longest = stalls.toSorted((a, b) => b.lateMs - a.lateMs)[0];
  const told = JSON.stringify({ fromMs, untilMs, stalls });
  assert.ok(longest?.lateMs >= 55, told);
  assert.ok(longest.fromMs > fromMs && longest.fromMs < untilMs - 55, told);
  const again = await watch.taken();
  assert.ok(!again.some((one) => one.fromMs === longest.fromMs));
});

test('a watch that has ended is no quiet time', async (t) => {
  if (process.getuid() !== 0) return leaveOut(t, 'needs root');
  const watch = await StallWatch.start([LOAD_CORE], { profile: 'tested' });
  t.after(() => watch.stop());
  await watch.taken();
  execFileSync('pkill', ['-KILL', '-P', String(process.pid), '-x', 'stalls']);
  await sleep(100);
  const message = `the watch of CPU ${LOAD_CORE} has ended with SIGKILL`;
  await assert.rejects(watch.taken(), { message });
});
