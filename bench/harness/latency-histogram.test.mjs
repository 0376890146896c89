// What the histogram of the experiments tells, also after it was text.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LatencyHistogram } from './latency-histogram.mjs';

test('how many took longer is told to the width of a bucket, also of what was kept', () => {
  const histogram = new LatencyHistogram();
  for (let ms = 1; ms <= 100; ms += 1) histogram.add(ms);
  histogram.add(60.2, 5);
  for (const one of [histogram, LatencyHistogram.fromText(histogram.toText())]) {
    assert.equal(one.count, 105);
    assert.equal(one.countOver(0.5), 105);
    assert.equal(one.countOver(30.5), 75);
    assert.equal(one.countOver(61.5), 39);
    assert.equal(one.countOver(102), 0);
  }
});
