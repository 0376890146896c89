/** The profile of latency, read by another implementation of the format. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { Profile } from 'pprof-format';
import { analyzeReport, analyzeRequests, exportRecording, recordMixed } from './exports.mjs';

let recording;

before(async () => {
  recording = await recordMixed(400);
});

after(() => recording?.end());

/** The samples, with their stacks in words, outermost frame first. */
async function samplesOf(selection) {
  const out = join(recording.home, 'out.pb.gz');
  await exportRecording(recording.folder, 'pprof', out, selection);
  const profile = Profile.decode(gunzipSync(readFileSync(out)));
  const text = (index) => profile.stringTable.strings[Number(index)];
  const functions = new Map(profile.function.map((one) => [Number(one.id), one]));
  const frames = new Map(
    profile.location.map(({ id, line }) => {
      const { name, filename } = functions.get(Number(line[0].functionId));
      return [Number(id), { name: text(name), file: text(filename), line: Number(line[0].line) }];
    }),
  );
  const samples = profile.sample.map(({ locationId, value }) => ({
    stack: locationId.map((id) => frames.get(Number(id))).reverse(),
    latencyNs: Number(value[0]),
    requests: Number(value[1]),
  }));
  return { profile, text, samples };
}

const sum = (samples) => samples.reduce((total, one) => total + one.latencyNs, 0);

test('the samples of the tail sum to its latencies, by route, kind and class', async () => {
  const report = await analyzeReport(recording.folder, { percentile: 90 });
  const { profile, text, samples } = await samplesOf({ percentile: 90 });
  const types = profile.sampleType.map(({ type, unit }) => [text(type), text(unit)]);
  assert.deepEqual(types, [
    ['latency', 'nanoseconds'],
    ['requests', 'count'],
  ]);
  assert.equal(text(profile.defaultSampleType), 'latency');
  assert.equal(Number(profile.durationNanos), report.run.durationNs);
  const all = await analyzeRequests(recording.folder, { all: true });
  const tail = all.filter(({ latencyNs }) => latencyNs >= report.tail.thresholdNs);
  assert.equal(tail.length, report.tail.count);
  for (const { route } of tail) {
    const requests = tail.filter((one) => one.route === route);
    const ofRoute = samples.filter(({ stack }) => stack[0].name === route);
    const total = (all, of) => all.reduce((sum, one) => sum + of(one), 0);
    assert.equal(
      sum(ofRoute),
      total(requests, (one) => one.latencyNs),
    );
    for (const kind of ['io', 'queue', 'exec', 'unattributed']) {
      const segments = requests.flatMap((one) => one.segments).filter((one) => one.kind === kind);
      const ofKind = ofRoute.filter(({ stack }) => stack[1]?.name === kind);
      assert.equal(
        sum(ofKind),
        total(segments, (one) => one.durationNs),
      );
    }
  }
  const culprits = samples.filter(({ stack }) => stack[1].name === 'queue');
  const pausesNs = sum(culprits.filter(({ stack }) => stack[2]?.name.startsWith('gc ')));
  const execPausesNs = sum(
    samples.filter(({ stack }) => stack[1].name === 'exec' && stack.at(-1).name.startsWith('gc ')),
  );
  const inflictedNs = report.gc.reduce((total, one) => total + one.inflictedNs, 0);
  assert.equal(pausesNs + execPausesNs, inflictedNs);
});

test('a culprit that was caught is a frame with its file and line', async () => {
  const { samples } = await samplesOf({ percentile: 50 });
  const blocked = samples.filter(
    ({ stack }) => stack[1].name === 'queue' && stack.at(-1).file.endsWith('mixed.mjs'),
  );
  assert.ok(blocked.length > 0, 'something waited behind the callback that blocks');
  const frame = blocked[0].stack.at(-1);
  assert.ok(frame.name.length > 0 && frame.line > 0, JSON.stringify(frame));
});

test('of one route only its requests', async () => {
  const { samples } = await samplesOf({ route: 'GET /block' });
  assert.ok(samples.length > 0);
  assert.ok(samples.every(({ stack }) => stack[0].name === 'GET /block'));
});
