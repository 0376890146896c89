// What is left out around the time that a host took.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uncoveredMs, windowsOf } from './stolen.mjs';

const interval = (fromMs, untilMs, takenMs) => {
  return { fromNs: fromMs * 1e6, untilNs: untilMs * 1e6, takenNs: takenMs * 1e6 };
};
const toMs = (ns) => ns / 1e6;

test('windows begin before what was taken, end after it by how much it was, and are apart', () => {
  const intervals = [
    interval(1000, 1050, 50),
    interval(1300, 1350, 30),
    interval(1521, 1571, 10),
    interval(2000, 2200, 90),
  ];
  assert.deepEqual(windowsOf(intervals, toMs), [
    { fromMs: 950, untilMs: 1470 },
    { fromMs: 1471, untilMs: 1671 },
    { fromMs: 1950, untilMs: 2400 },
  ]);
});

test('what is taken next does not shorten the window that it touches', () => {
  const intervals = [interval(1000, 1100, 50), interval(1100, 1101, 10)];
  assert.deepEqual(windowsOf(intervals, toMs), [{ fromMs: 950, untilMs: 1300 }]);
});

test('what no window covers is what is left of the time until now', () => {
  const windows = [
    { fromMs: 0, untilMs: 150 },
    { fromMs: 300, untilMs: 400 },
    { fromMs: 900, untilMs: 1200 },
  ];
  assert.equal(uncoveredMs(windows, 100, 1000), 900 - 50 - 100 - 100);
  assert.equal(uncoveredMs(windows, 100, 350), 250 - 50 - 50);
  assert.equal(uncoveredMs([], 100, 350), 250);
});
