/** The distributions, read by HdrHistogram's own JavaScript implementation. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { HistogramLogReader } from 'hdr-histogram-js';
import { analyzeReport, analyzeRequests, exportRecording, recordMixed } from './exports.mjs';

const REQUESTS = 400;

let recording;

before(async () => {
  recording = await recordMixed(REQUESTS);
});

after(() => recording?.end());

async function histogramsOf(selection) {
  const out = join(recording.home, 'out.hlog');
  await exportRecording(recording.folder, 'hdr', out, selection);
  const reader = new HistogramLogReader(readFileSync(out, 'utf8'));
  const histograms = [];
  for (let one = reader.nextIntervalHistogram(); one; one = reader.nextIntervalHistogram()) {
    histograms.push(one);
  }
  return histograms;
}

test('percentiles are those of the report, of each route those of its requests', async () => {
  const [all, ...routes] = await histogramsOf();
  const report = await analyzeReport(recording.folder);
  assert.equal(all.totalCount, REQUESTS);
  for (const [percentile, toldNs] of Object.entries(report.requests.percentilesNs)) {
    const valueNs = all.getValueAtPercentile(Number(percentile));
    assert.ok(valueNs >= toldNs && valueNs <= toldNs * 1.002, `p${percentile}: ${valueNs}`);
  }
  const requests = await analyzeRequests(recording.folder, { all: true });
  const expected = new Map();
  for (const { route, latencyNs } of requests) {
    expected.set(route, [...(expected.get(route) ?? []), latencyNs]);
  }
  assert.equal(routes.length, expected.size);
  for (const one of routes) {
    const latencies = expected.get(decodeURIComponent(one.tag));
    assert.equal(one.totalCount, latencies.length, one.tag);
    const longestNs = Math.max(...latencies);
    assert.ok(one.maxValue >= longestNs && one.maxValue <= longestNs * 1.002);
  }
  const startedMs = Date.parse(report.run.startedAt);
  assert.ok(all.startTimeStampMsec >= startedMs && all.startTimeStampMsec < Date.now());
});

test('of a choice only its requests', async () => {
  const [all, route, ...more] = await histogramsOf({ route: 'GET /block' });
  assert.equal(decodeURIComponent(route.tag), 'GET /block');
  assert.equal(all.totalCount, route.totalCount);
  assert.deepEqual(more, []);
});
