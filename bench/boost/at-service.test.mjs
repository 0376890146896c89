// Which requests count of those that a service tells by tenths of a second.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { AtService, histogramOf } from './at-service.mjs';

/** A file as a process keeps it, with so many requests of a bucket. */
function countsFile(counts) {
  const words = new BigUint64Array(4 + 2000);
  new Uint8Array(words.buffer).set(Buffer.from('bobtlat1'));
  for (const [bucket, times] of counts) words[4 + bucket] = BigInt(times);
  return Buffer.from(words.buffer);
}

const slice = (fromMs, untilMs, bucket, times) => {
  const counted = { buckets: new Map([[bucket, times]]), count: times };
  return { fromMs, untilMs, counted };
};

test('a slice counts from the moment that a turn does, unless a part of it was disturbed', () => {
  const slices = [
    slice(0, 100, 1700, 1),
    slice(100, 200, 1700, 10),
    slice(200, 300, 1700, 100),
    slice(300, 400, 1700, 1000),
  ];
  const count = (fromMs, disturbed) => histogramOf(slices, { fromMs, disturbed }).count;
  assert.equal(count(0, []), 1111);
  assert.equal(count(50, []), 1110);
  assert.equal(count(0, [{ fromMs: 290, untilMs: 295 }]), 1011);
  assert.equal(count(0, [{ fromMs: 150, untilMs: 320 }]), 1);
});

test('what a service answered in a turn is what all its files have more at its end', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bobtail-at-service-'));
  try {
    writeFileSync(join(folder, 'latencies-7-0'), countsFile([[1700, 5]]));
    writeFileSync(join(folder, 'latencies-8-0'), countsFile([[1000, 1]]));
    const fromMs = performance.now();
    const atService = new AtService(folder);
    await sleep(250);
    writeFileSync(join(folder, 'latencies-7-0'), countsFile([[1700, 7]]));
    writeFileSync(join(folder, 'latencies-8-0'), countsFile([[1000, 4]]));
    const slices = atService.end();
    assert.ok(slices.length >= 3, `${slices.length} slices`);
    assert.equal(histogramOf(slices.slice(0, 2), { fromMs, disturbed: [] }).count, 0);
    const all = histogramOf(slices, { fromMs: 0, disturbed: [] });
    assert.equal(all.count, 5);
    // Bucket 1000 begins at (1000 − 6 × 128) × 2^6 ns, bucket 1700 at (1700 − 12 × 128) × 2^12.
    assert.equal(all.countOver(0.1), 2);
    assert.equal(all.countOver(0.7), 0);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
