// Which turns count: those in which no CPU that matters was slower than it may be.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCalm, Pace } from './pace.mjs';

/** Looks at a CPU a quarter of a second apart, in us, from a moment on. */
function look(pace, cpu, fromMs, ...worksUs) {
  for (const [index, us] of worksUs.entries()) {
    pace.add(cpu, { atMs: fromMs + 250 * (index + 1), workNs: us * 1000 });
  }
}

function paceOfTwo() {
  const pace = new Pace();
  pace.limit(0, 1.15);
  pace.limit(1, 1.3);
  return pace;
}

const told = (cpus) => cpus.map(({ slowness }) => slowness && Number(slowness.toFixed(2)));

test('the mean of a turn is compared with the fastest tenth of all looks, by CPU', () => {
  const pace = paceOfTwo();
  look(pace, 0, 0, ...Array(20).fill(20));
  look(pace, 1, 0, ...Array(20).fill(40));
  // Of four looks the first and the last are of its neighbours.
  look(pace, 0, 10_000, 60, 20, 24, 60);
  look(pace, 1, 10_000, 80, 52, 52, 80);
  const turn = pace.slowness(10_400, 10_800);
  assert.deepEqual(told(turn), [1.1, 1.3]);
  assert.ok(isCalm(turn));
  assert.ok(!isCalm(pace.slowness(10_400, 11_100)));
});

test('one slow CPU is enough, and so is one at which nobody looked', () => {
  const pace = paceOfTwo();
  look(pace, 0, 0, 20, 20, 20, 20);
  assert.deepEqual(told(pace.slowness(0, 2000)), [1, null]);
  assert.ok(!isCalm(pace.slowness(0, 2000)));
  look(pace, 1, 0, 20, 20, 30, 30);
  assert.ok(isCalm(pace.slowness(0, 2000)));
  assert.ok(!isCalm(pace.slowness(700, 2000)));
});

test('who waits goes on when the latest looks are calm, and not before', async () => {
  const pace = paceOfTwo();
  look(pace, 0, 0, ...Array(20).fill(20));
  look(pace, 1, 0, ...Array(20).fill(20));
  assert.ok(await pace.untilCalm());
  look(pace, 0, 5000, 30, 30);
  let isWaiting = true;
  const waited = pace.untilCalm().then((calm) => {
    isWaiting = false;
    return calm;
  });
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.ok(isWaiting);
  look(pace, 0, 5500, 20, 20);
  assert.ok(await waited);
});

test('a CPU without a limit is not looked at', () => {
  const pace = new Pace();
  pace.add(0, { atMs: 1, workNs: 1 });
  assert.deepEqual(pace.slowness(0, 2), []);
});
