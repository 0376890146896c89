/**
 * A wall clock that is stepped twenty times a second under a recorded service: the kernel stamps
 * requests by it, and no request is told as longer than its client saw it.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { compiled } from '../compiled.mjs';
import { get } from './load.mjs';
import { fixture, reportOf, startRecording } from './recordings.mjs';

const SOURCE = readFileSync(fixture('stepping-clock.c'), 'utf8');
const SERVICE = `
  const server = require('node:http').createServer((_, response) => {
    const begun = performance.now();
    while (performance.now() - begun < 3);
    response.end('done');
  });
  server.listen(0, '127.0.0.1', () => {
    process.stdout.write('listening ' + server.address().port + '\\n');
  });
`;
const ROUNDS = 40;
/** Each waits for those before it, so that it matters when its bytes came. */
const AT_ONCE = 6;

for (const stepS of [3600, -3600, 10]) {
  test(`steps of ${stepS} s: no request is longer than its client saw it`, async (t) => {
    const env = { LD_PRELOAD: compiled(t, SOURCE, '-O1'), STEP_S: String(stepS) };
    const run = await startRecording(t, [process.execPath, '-e', SERVICE], { env });
    const seenMs = [];
    const ask = async () => {
      const sentMs = performance.now();
      assert.equal(await get(run.port, '/', false), 'done');
      seenMs.push(performance.now() - sentMs);
    };
    for (let round = 0; round < ROUNDS; round += 1) {
      await Promise.all(Array.from({ length: AT_ONCE }, ask));
    }
    await run.end();
    const { requests, tail } = await reportOf(run.folder);
    assert.equal(requests.complete, ROUNDS * AT_ONCE);
    const seenSumMs = seenMs.reduce((sum, ms) => sum + ms, 0);
    assert.ok(requests.meanNs > 3e6, `mean of ${requests.meanNs} ns`);
    assert.ok(requests.meanNs < (seenSumMs / seenMs.length) * 1e6, `mean of ${requests.meanNs} ns`);
    assert.ok(tail.thresholdNs < Math.max(...seenMs) * 1e6, `tail from ${tail.thresholdNs} ns`);
  });
}
