/** The time line for Perfetto, read by the schema that Perfetto publishes. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { analyzeReport, analyzeRequests, publishedSchema, recordMixed } from './exports.mjs';
import { runBobtail } from './run-bobtail.mjs';

const REQUESTS = 400;

let recording;
let Trace;

before(async () => {
  recording = await recordMixed(REQUESTS);
  const schema = publishedSchema(
    'perfetto-trace-proto',
    'perfetto',
    'protos/perfetto/trace/trace.proto',
  );
  Trace = schema.lookupType('perfetto.protos.Trace');
});

after(() => recording?.end());

async function exported(...options) {
  const out = join(recording.home, `${options[0] ?? 'whole'}.pftrace`);
  const args = ['export', recording.folder, '--format', 'perfetto', '--out', out, ...options];
  const { code, stderr } = await runBobtail(args);
  assert.equal(code, 0, stderr);
  const told = { longs: String, enums: String, defaults: false };
  return read(Trace.toObject(Trace.decode(readFileSync(out)), told).packet);
}

/** What a viewer makes of the packets: named tracks, slices that nest, counters, arrows. */
function read(packets) {
  const view = { tracks: new Map(), slices: [], counters: [], flows: new Map(), clocks: [] };
  const names = new Map();
  const events = [];
  for (const packet of packets) {
    const sequence = packet.trustedPacketSequenceId;
    assert.ok(sequence > 0);
    for (const table of ['eventNames', 'eventCategories', 'debugAnnotationNames']) {
      for (const { iid, name } of packet.internedData?.[table] ?? []) {
        names.set(`${table} ${sequence} ${iid}`, name);
      }
    }
    const { trackDescriptor: track, clockSnapshot: clock, trackEvent: event } = packet;
    if (track !== undefined) view.tracks.set(track.uuid, track);
    if (clock !== undefined) view.clocks.push(clock);
    if (event === undefined) continue;
    const nameOf = (table, iid) => names.get(`${table} ${sequence} ${iid}`);
    const args = (event.debugAnnotations ?? []).map(({ nameIid, ...value }) => [
      nameOf('debugAnnotationNames', nameIid),
      value.stringValue ?? value.boolValue ?? Number(value.uintValue),
    ]);
    events.push({
      ...event,
      at: BigInt(packet.timestamp),
      name: event.name ?? nameOf('eventNames', event.nameIid),
      category: nameOf('eventCategories', event.categoryIids?.[0]),
      args: Object.fromEntries(args),
    });
  }
  // Sorting is stable, as the viewer's.
  events.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  const open = new Map();
  for (const event of events) {
    assert.ok(view.tracks.has(event.trackUuid), 'its track was declared');
    const stack = open.get(event.trackUuid) ?? [];
    open.set(event.trackUuid, stack);
    for (const flow of [...(event.flowIds ?? []), ...(event.terminatingFlowIds ?? [])]) {
      view.flows.set(flow, [...(view.flows.get(flow) ?? []), event]);
    }
    if (event.type === 'TYPE_SLICE_BEGIN') {
      const slice = { ...event, parent: stack.at(-1), children: [] };
      slice.parent?.children.push(slice);
      stack.push(slice);
      view.slices.push(slice);
    } else if (event.type === 'TYPE_SLICE_END') {
      const slice = stack.pop();
      assert.ok(slice !== undefined, 'an end has a begin');
      slice.durationNs = Number(event.at - slice.at);
    } else {
      assert.equal(event.type, 'TYPE_COUNTER');
      view.counters.push(event);
    }
  }
  assert.ok(
    [...open.values()].every((stack) => stack.length === 0),
    'every slice ends',
  );
  return view;
}

const named = (view, name) =>
  view.slices.filter(({ trackUuid }) => {
    const track = view.tracks.get(trackUuid);
    return (track.name ?? track.thread?.threadName) === name;
  });

test('a whole recording: every request, every loop event, and the clock', async () => {
  const view = await exported();
  const report = await analyzeReport(recording.folder);
  const requests = view.slices.filter(({ category }) => category === 'request');
  assert.equal(requests.length, report.requests.count);
  const meanNs = requests.reduce((sum, one) => sum + one.durationNs, 0) / requests.length;
  assert.equal(Math.floor(meanNs), report.requests.meanNs);
  for (const one of requests) assert.equal(one.durationNs, one.args.latencyNs);
  const loop = named(view, 'event loop');
  assert.ok(loop.some(({ name }) => name === 'poll'));
  assert.ok(loop.some(({ category, args }) => category === 'loop' && args.microEvents > 0));
  assert.ok(named(view, 'thread-pool jobs').some(({ category }) => category === 'pool'));
  const pausesNs = named(view, 'garbage collection').reduce((sum, one) => sum + one.durationNs, 0);
  assert.equal(
    pausesNs,
    report.gc.reduce((sum, one) => sum + one.totalNs, 0),
  );
  assert.ok(view.counters.every(({ counterValue }) => Number(counterValue) >= 0));
  assert.ok(view.counters.some(({ counterValue }) => Number(counterValue) > 1));
  assert.equal(Number(view.counters.at(-1).counterValue), 0);
  const [{ clocks, primaryTraceClock }] = view.clocks;
  assert.equal(primaryTraceClock, 'BUILTIN_CLOCK_MONOTONIC');
  const [monotonic, realtime] = clocks.map(({ timestamp }) => BigInt(timestamp));
  const first = Number(realtime + (requests[0].at - monotonic)) / 1e6;
  const startedMs = Date.parse(report.run.startedAt);
  assert.ok(first > startedMs && first < Date.now(), `${first} is after ${startedMs}`);
  const [process] = [...view.tracks.values()].filter((track) => track.process !== undefined);
  assert.equal(process.process.pid, report.run.processes[0].pid);
});

test('chosen requests have the segments of explain, and arrows along their path', async () => {
  const view = await exported('--slowest', '5');
  const requests = view.slices.filter(({ args }) => args.complete !== undefined);
  assert.equal(requests.length, 5);
  const ids = requests.map(({ args }) => args.request);
  for (const explained of await analyzeRequests(recording.folder, { ids })) {
    const request = requests.find(({ args }) => args.request === explained.id);
    assert.equal(request.name, explained.route);
    assert.equal(request.durationNs, explained.latencyNs);
    assert.deepEqual(
      request.children.map((one) => [
        one.name.split(' ')[0],
        Number(one.at - request.at),
        one.durationNs,
        one.args.event,
        one.args.exact,
      ]),
      explained.segments.map((one) => [
        one.kind,
        one.startNs,
        one.durationNs,
        one.event,
        one.exact,
      ]),
    );
    const through = view.flows.get(request.flowIds[0]);
    assert.equal(through[0].args.request, explained.id);
    const events = through.slice(1).map(({ args }) => args.event);
    const path = explained.events.filter(({ onPath }) => onPath).map(({ id }) => id);
    assert.ok(events.every((event) => path.includes(event)));
    assert.equal(through.filter((one) => one.terminatingFlowIds !== undefined).length, 1);
    assert.ok(through.at(-1).terminatingFlowIds !== undefined, 'it ends at the sink');
  }
  const all = await exported();
  assert.ok(view.slices.length < all.slices.length, 'only what is around them is drawn');
});

test('a hostile path is a name like any other', async () => {
  const { route } = (await analyzeReport(recording.folder)).breakdown.find(({ route }) =>
    route.includes('script'),
  );
  const view = await exported('--route', route);
  const walked = view.slices.filter(({ args }) => args.complete !== undefined);
  assert.deepEqual(
    walked.map(({ name }) => name),
    [route],
  );
});
