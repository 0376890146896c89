// What is left out around the time that a host took.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uncoveredMs, windowsOf } from './stolen.mjs';

const interval = (fromMs, untilMs) => ({ fromNs: fromMs * 1e6, untilNs: untilMs * 1e6 });
const toMs = (ns) => ns / 1e6;

test('windows begin before what was taken, end after it, and are apart', () => {
  const intervals = [interval(1000, 1050), interval(1300, 1350), interval(1601, 1650)];
  assert.deepEqual(windowsOf(intervals, toMs), [
    { fromMs: 950, untilMs: 1550 },
    { fromMs: 1551, untilMs: 1850 },
  ]);
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
