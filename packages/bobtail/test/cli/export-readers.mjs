/**
 * The requests in an export, by readers that others wrote: whatever the format, as a list of
 * `{ pid, route, latencyNs }`, so that one test can ask the same of all.
 *
 * A profile and a histogram have no single requests: of them come the sums that they have.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { HistogramLogReader } from 'hdr-histogram-js';
import { Profile } from 'pprof-format';
import { publishedSchema } from './exports.mjs';

const told = { longs: String, enums: String, defaults: false };
const nsBetween = (begin, end) => Number(BigInt(end) - BigInt(begin));

/** Slices named by category `request`, with the process of their track. */
function readPerfetto(path) {
  const file = 'protos/perfetto/trace/trace.proto';
  const schema = publishedSchema('perfetto-trace-proto', 'perfetto', file);
  const Trace = schema.lookupType('perfetto.protos.Trace');
  const { packet: packets } = Trace.toObject(Trace.decode(readFileSync(path)), told);
  const tracks = new Map();
  const texts = new Map();
  const open = new Map();
  const requests = [];
  for (const packet of packets) {
    const sequence = packet.trustedPacketSequenceId;
    for (const table of ['eventNames', 'eventCategories']) {
      for (const { iid, name } of packet.internedData?.[table] ?? []) {
        texts.set(`${table} ${sequence} ${iid}`, name);
      }
    }
    const { trackDescriptor: track, trackEvent: event } = packet;
    if (track !== undefined) tracks.set(track.uuid, track);
    if (event === undefined) continue;
    const stack = open.get(event.trackUuid) ?? [];
    open.set(event.trackUuid, stack);
    if (event.type === 'TYPE_SLICE_BEGIN') {
      const text = (table, iid) => texts.get(`${table} ${sequence} ${iid}`);
      const route = event.name ?? text('eventNames', event.nameIid);
      const category = text('eventCategories', event.categoryIids?.[0]);
      stack.push({ category, route, track: event.trackUuid, at: packet.timestamp });
    } else if (event.type === 'TYPE_SLICE_END') {
      const { category, route, track, at } = stack.pop();
      if (category !== 'request') continue;
      requests.push({
        pid: pidOf(tracks, track),
        route,
        latencyNs: nsBetween(at, packet.timestamp),
      });
    }
  }
  return requests;
}

function pidOf(tracks, uuid) {
  const track = tracks.get(uuid);
  return track.process?.pid ?? track.thread?.pid ?? pidOf(tracks, track.parentUuid);
}

/** Spans without a parent, with the process of their resource. */
function readOtlp(path) {
  const file = 'opentelemetry/proto/collector/trace/v1/trace_service.proto';
  const folder = 'src/proto/opentelemetry-proto';
  const schema = publishedSchema('opentelemetry-proto', folder, file);
  const Body = schema.lookupType(
    'opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest',
  );
  const { resourceSpans } = Body.toObject(Body.decode(readFileSync(path)), told);
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const { value } = resource.attributes.find(({ key }) => key === 'process.pid');
    const spans = scopeSpans.flatMap((scope) => scope.spans);
    return spans
      .filter(({ parentSpanId }) => !parentSpanId?.length)
      .map(({ name, startTimeUnixNano, endTimeUnixNano }) => ({
        pid: Number(value.intValue),
        route: name,
        latencyNs: nsBetween(startTimeUnixNano, endTimeUnixNano),
      }));
  });
}

async function readParquet(path) {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    const sql = `select pid, route, latency_ns from '${join(path, 'requests.parquet')}'`;
    const rows = (await connection.runAndReadAll(sql)).getRowObjectsJS();
    return rows.map(({ pid, route, latency_ns: ns }) => ({ pid, route, latencyNs: Number(ns) }));
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** How each format is read for its single requests. */
export const REQUESTS_OF = { perfetto: readPerfetto, otlp: readOtlp, parquet: readParquet };

/** The sum of latencies in a profile, by route. */
export function latencyByRoute(path) {
  const profile = Profile.decode(gunzipSync(readFileSync(path)));
  const functions = new Map(profile.function.map((one) => [Number(one.id), Number(one.name)]));
  const names = new Map(
    profile.location.map(({ id, line }) => [
      Number(id),
      profile.stringTable.strings[functions.get(Number(line[0].functionId))],
    ]),
  );
  const sums = new Map();
  for (const { locationId, value } of profile.sample) {
    const route = names.get(Number(locationId.at(-1)));
    sums.set(route, (sums.get(route) ?? 0) + Number(value[0]));
  }
  return sums;
}

/** The numbers of requests in a log of histograms, by route; that of all is of `undefined`. */
export function countByRoute(path) {
  const reader = new HistogramLogReader(readFileSync(path, 'utf8'));
  const counts = new Map();
  for (let one = reader.nextIntervalHistogram(); one; one = reader.nextIntervalHistogram()) {
    // A tag of a route has no space.
    const isAll = !one.tag || one.tag === 'NO TAG';
    counts.set(isAll ? undefined : decodeURIComponent(one.tag), one.totalCount);
  }
  return counts;
}
