// Whether what replays predict lies in the interval of what came live, on figures made for it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byScheme } from './conformance.mjs';

test('what is not what came live is told', () => {
  const one = (service, told, live) => ({
    ...{ service, arm: 'combined' },
    tails: [{ percentile: 99, ratio: told }],
    result: { percentiles: [{ percentile: 99, ratio: live, low: live - 0.1, high: live + 0.1 }] },
  });
  const of = (cells) => byScheme(cells).find(({ percentile }) => percentile === 99);
  const near = of([one('a', 0.62, 0.5), one('b', 0.62, 0.6), one('c', 0.58, 0.7)]);
  assert.equal(near.services, 3);
  assert.ok(Math.abs(near.live - 0.4) < 1e-9 && Math.abs(near.predicted - 0.3933) < 1e-3);
  // Of three services the interval is narrower than of one.
  assert.ok(Math.abs(near.high - near.live - 0.1 / Math.sqrt(3)) < 1e-9);
  assert.equal(near.isWithin, true);
  const off = of([one('a', 0.62, 0.5), one('b', 0.62, 0.6), one('c', 0.78, 0.7)]);
  assert.equal(off.isWithin, false);
  const unknown = one('a', 0.62, 0.5);
  unknown.result.percentiles[0].low = null;
  assert.equal(of([unknown]).isWithin, undefined);
});
