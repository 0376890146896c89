/** Spans, read by the schema that OpenTelemetry publishes. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  analyzeRequests,
  exportRecording,
  publishedSchema,
  readRunFile,
  recordMixed,
} from './exports.mjs';
import { runBobtail } from './run-bobtail.mjs';

const SLOWEST = 20;

let recording;
let Body;

before(async () => {
  recording = await recordMixed(400);
  const schema = publishedSchema(
    'opentelemetry-proto',
    'src/proto/opentelemetry-proto',
    'opentelemetry/proto/collector/trace/v1/trace_service.proto',
  );
  Body = schema.lookupType('opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest');
});

after(() => recording?.end());

const out = (name) => join(recording.home, name);

async function spansOf(selection, name = 'out.pb') {
  await exportRecording(recording.folder, 'otlp', out(name), selection);
  const body = Body.toObject(Body.decode(readFileSync(out(name))), {
    longs: String,
    enums: Number,
    bytes: (bytes) => bytes,
  });
  return body.resourceSpans;
}

const hex = (bytes) => Buffer.from(bytes).toString('hex');
const attributesOf = ({ attributes = [] }) =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.boolValue ?? Number(value.intValue),
    ]),
  );

test('a trace for each request, a span for each segment, as explain has them', async () => {
  const pieces = await spansOf({ slowest: SLOWEST });
  const spans = pieces.flatMap(({ scopeSpans }) => scopeSpans).flatMap((scope) => scope.spans);
  const roots = spans.filter(({ parentSpanId }) => !parentSpanId?.length);
  assert.equal(roots.length, SLOWEST);
  assert.equal(new Set(roots.map(({ traceId }) => hex(traceId))).size, SLOWEST);
  assert.equal(new Set(spans.map(({ spanId }) => hex(spanId))).size, spans.length);
  const ids = roots.map((root) => attributesOf(root)['bobtail.request']);
  const startedMs = Date.parse(readRunFile(recording.folder).startedAt);
  let links = 0;
  for (const explained of await analyzeRequests(recording.folder, { ids })) {
    const root = roots.find((one) => attributesOf(one)['bobtail.request'] === explained.id);
    const start = BigInt(root.startTimeUnixNano);
    assert.equal(root.name, explained.route);
    assert.equal(root.kind, 2);
    assert.equal(Number(BigInt(root.endTimeUnixNano) - start), explained.latencyNs);
    assert.equal(attributesOf(root)['http.response.status_code'], explained.status);
    assert.ok(start / 1_000_000n > startedMs && start / 1_000_000n < Date.now());
    const children = spans.filter(
      (one) => one.parentSpanId?.length && hex(one.traceId) === hex(root.traceId),
    );
    assert.deepEqual(
      children.map((one) => [
        attributesOf(one)['bobtail.segment'],
        Number(BigInt(one.startTimeUnixNano) - start),
        Number(BigInt(one.endTimeUnixNano) - BigInt(one.startTimeUnixNano)),
        attributesOf(one)['bobtail.resource'] ?? null,
        hex(one.parentSpanId),
      ]),
      explained.segments.map((one) => [
        one.kind,
        one.startNs,
        one.durationNs,
        one.resource,
        hex(root.spanId),
      ]),
    );
    for (const [index, child] of children.entries()) {
      const told = [...(child.links ?? []), ...(child.events ?? [])].map(attributesOf);
      const sum = (all, of) => all.reduce((total, one) => total + of(one), 0);
      assert.equal(
        sum(told, (one) => one['bobtail.culprit.durationNs']),
        sum(explained.segments[index].culprits, (one) => one.durationNs),
      );
      links += child.links?.length ?? 0;
    }
  }
  assert.ok(links > 0, 'somebody waited for somebody');
  const byTrace = new Map(roots.map((root) => [hex(root.traceId), hex(root.spanId)]));
  const led = spans
    .flatMap((span) => span.links ?? [])
    .filter((link) => byTrace.has(hex(link.traceId)));
  assert.ok(led.length > 0);
  for (const link of led) assert.equal(hex(link.spanId), byTrace.get(hex(link.traceId)));
});

test('all requests come in pieces, which together are one body', async () => {
  const pieces = await spansOf({ all: true });
  const roots = pieces
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ spans }) => spans)
    .filter(({ parentSpanId }) => !parentSpanId?.length);
  assert.equal(roots.length, 400);
});

test('JSON says the same as protobuf', async () => {
  const args = ['export', recording.folder, '--format', 'otlp', '--slowest', '3'];
  const json = await runBobtail([...args, '--service', 'shop', '--out', out('out.json')]);
  assert.equal(json.code, 0, json.stderr);
  assert.match(json.stderr, /^bobtail: 3 requests in /);
  const binary = await runBobtail([...args, '--service', 'shop', '--out', out('out.binpb')]);
  assert.equal(binary.code, 0, binary.stderr);
  const { resourceSpans } = JSON.parse(readFileSync(out('out.json'), 'utf8'));
  assert.equal(attributesOf(resourceSpans[0].resource)['service.name'], 'shop');
  const text = JSON.parse(
    JSON.stringify(
      Body.toObject(Body.decode(readFileSync(out('out.binpb'))), {
        longs: String,
        enums: Number,
        bytes: (bytes) => hex(bytes),
      }),
    ),
  );
  const plain = (value) =>
    JSON.parse(
      JSON.stringify(value, (key, one) => {
        if (Buffer.isBuffer(one)) return undefined;
        if (one?.type === 'Buffer') return hex(one.data);
        // Defaults may be written or left out.
        return one === '' || one === 0 || (Array.isArray(one) && one.length === 0)
          ? undefined
          : key === 'traceId' || key.endsWith('panId')
            ? String(one)
            : one;
      }),
    );
  assert.deepEqual(plain(text.resourceSpans), plain(resourceSpans));
});

test('--service is of otlp', async () => {
  const args = ['export', recording.folder, '--format', 'perfetto', '--service', 'x', '-o', 'x'];
  const { code, stderr } = await runBobtail(args);
  assert.equal(code, 64);
  assert.equal(stderr, 'bobtail: --service goes with --format otlp (perfetto)\n');
});
