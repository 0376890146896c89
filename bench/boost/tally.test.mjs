// Which turns of an arm count, and what its histogram is of.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LatencyHistogram } from '../harness/latency-histogram.mjs';
import { Tally } from './tally.mjs';

/** A turn in which so many requests took so long, and others were left out. */
function turn(count, latencyMs, leftOut) {
  const latenciesMs = Array(count).fill(latencyMs);
  const sent = count + leftOut;
  const atService = new LatencyHistogram();
  atService.add(latencyMs / 2, count);
  return { latenciesMs, leftOut, atService, sent, loopNs: 1e6 * sent };
}

test('a turn counts of which a quarter is left, and what was left out nowhere', () => {
  const tally = new Tally();
  tally.add(turn(1000, 1, 0));
  tally.add(turn(600, 2, 400));
  tally.add(turn(250, 50, 750));
  tally.add(turn(0, 0, 1000));
  assert.equal(tally.requests, 1600);
  const { fastTurns, histogram, ofAllTurns, atService } = tally.latencies();
  assert.equal(fastTurns, 2);
  assert.equal(histogram.count, 1600);
  assert.equal(Math.round(histogram.percentileMs(95)), 2);
  assert.equal(atService.count, 1600);
  assert.equal(Math.round(atService.percentileMs(95)), 1);
  assert.equal(ofAllTurns.count, 1850);
  assert.equal(Math.round(ofAllTurns.percentileMs(95)), 50);
  assert.equal(tally.sum('leftOut'), 2150);
  assert.deepEqual(tally.each('perRequestNs'), [1e6, 1e6, 1e6, 1e6]);
});
