// Which requests count: those that came while no CPU that matters was slow, or had just been.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pace } from './pace.mjs';

/** Looks at a CPU, a tenth of a second each, in us, from a moment on. */
function look(pace, cpu, fromMs, ...worksUs) {
  for (const [index, us] of worksUs.entries()) {
    pace.add(cpu, { atMs: fromMs + 100 * (index + 1), workNs: us * 1000 });
  }
}

/** Two CPUs of different speed that were fast for two seconds. */
function paceOfTwo() {
  const pace = new Pace();
  pace.limit(0, 1.2);
  pace.limit(1, 1.4);
  look(pace, 0, 0, ...Array(20).fill(20));
  look(pace, 1, 0, ...Array(20).fill(40));
  return pace;
}

test('the mean of looks is compared with the fastest tenth of all, by CPU', () => {
  const pace = paceOfTwo();
  look(pace, 0, 10_000, 60, 20, 24, 60);
  look(pace, 1, 10_000, 80, 52, 52, 80);
  const told = (fromMs, untilMs) =>
    pace.slowness(fromMs, untilMs).map((one) => one && Number(one.toFixed(2)));
  assert.deepEqual(told(10_150, 10_350), [1.1, 1.3]);
  assert.deepEqual(told(20_000, 21_000), [null, null]);
});

test('what came in a slow look is left out, and what came a while after', () => {
  const pace = paceOfTwo();
  look(pace, 0, 10_000, 20, 24, 25, 20, 20, 20);
  look(pace, 1, 10_000, 40, 40, 40, 40, 56, 57);
  assert.deepEqual(pace.slowWindows(10_000, 11_000), [
    { fromMs: 10_200, untilMs: 10_450 },
    { fromMs: 10_500, untilMs: 10_750 },
  ]);
  // The last one began before that moment.
  assert.equal(pace.slowWindows(10_400, 10_550).length, 1);
  assert.deepEqual(pace.slowWindows(10_650, 11_000), []);
});

test('who waits goes on when the latest looks are calm, and not before', async () => {
  const pace = paceOfTwo();
  assert.ok(await pace.untilCalm());
  look(pace, 0, 5000, 30, 20, 20, 20, 20);
  let isWaiting = true;
  const waited = pace.untilCalm().then((calm) => {
    isWaiting = false;
    return calm;
  });
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.ok(isWaiting);
  look(pace, 0, 5500, 20);
  assert.ok(await waited);
});

test('at a CPU without a limit nobody looks', () => {
  const pace = new Pace();
  pace.add(0, { atMs: 1, workNs: 1 });
  assert.deepEqual(pace.slowness(0, 2), []);
  assert.deepEqual(pace.slowWindows(0, 2), []);
});
