// The comparison of work classes: it must be able to fail.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareClasses, workOf } from './work.mjs';

const one = (actualNs) => ({ what: 'gc', actualNs, rangeNs: [20, 30], ofNs: 100 });

test('a share within its range is told, one outside is wrong', () => {
  const { told, wrong } = compareClasses([one(20), one(30), one(19), one(31), one(Number.NaN)]);
  const text = (share, low, high) =>
    `gc: ${share} %, expected 20.0 % to 30.0 % (wrong below x${low}, above x${high})`;
  assert.deepEqual(told, [text('20.0', '1.00', '1.50'), text('30.0', '0.67', '1.00')]);
  const outside = [text('19.0', '1.05', '1.58'), text('31.0', '0.65', '0.97')];
  assert.deepEqual(wrong, [...outside, text('NaN', 'NaN', 'NaN')]);
});

test('the work of a request is that of its queue and exec', () => {
  const work = (gcNs) => ({ nativeNs: 5, gcNs, jitNs: null, icNs: 0, loopNs: 0, notRunningNs: 0 });
  const segment = (kind, durationNs, gcNs) => ({ kind, durationNs, work: work(gcNs) });
  const segments = [segment('queue', 7, 2), segment('io', 100, 50), segment('exec', 8, 3)];
  const { wholeNs, gcNs, jitNs, nativeNs } = workOf({ segments });
  assert.deepEqual(
    { wholeNs, gcNs, jitNs, nativeNs },
    { wholeNs: 15, gcNs: 5, jitNs: 0, nativeNs: 10 },
  );
});
