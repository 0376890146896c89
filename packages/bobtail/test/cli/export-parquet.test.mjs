/** The tables, read by DuckDB. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { analyzeReport, analyzeRequests, exportRecording, recordMixed } from './exports.mjs';
import { PACKAGE } from './run-bobtail.mjs';

const REQUESTS = 400;

let recording;
let folder;
let duckdb;

before(async () => {
  recording = await recordMixed(REQUESTS);
  folder = join(recording.home, 'tables');
  await exportRecording(recording.folder, 'parquet', folder);
  duckdb = await (await DuckDBInstance.create(':memory:')).connect();
});

after(() => {
  duckdb?.closeSync();
  recording?.end();
});

/** The answer, whole numbers as numbers. */
async function ask(sql, from = folder) {
  const text = sql.replace(/\{(\w+)\}/g, (_, table) => `'${join(from, table)}.parquet'`);
  const rows = (await duckdb.runAndReadAll(text)).getRowObjectsJS();
  const plain = (value) => (typeof value === 'bigint' ? Number(value) : value);
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)])),
  );
}

test('requests and segments are those of explain', async () => {
  assert.deepEqual(readdirSync(folder).sort(), [
    'culprits.parquet',
    'gc.parquet',
    'requests.parquet',
    'segments.parquet',
  ]);
  const requests = await ask('select * from {requests}');
  const segments = await ask('select * from {segments} order by request, segment');
  assert.equal(requests.length, REQUESTS);
  const byRequest = new Map(requests.map((row) => [row.request, []]));
  for (const segment of segments) byRequest.get(segment.request).push(segment);
  const all = await analyzeRequests(recording.folder, { all: true });
  const rows = new Map(requests.map((row) => [row.request, row]));
  for (const explained of all) {
    const row = rows.get(explained.id);
    assert.equal(row.route, explained.route);
    assert.equal(row.latency_ns, explained.latencyNs);
    assert.equal(row.status, explained.status);
    assert.equal(row.complete, explained.complete);
    assert.deepEqual(
      byRequest
        .get(explained.id)
        .map((one) => [
          one.kind,
          one.start_ns,
          one.duration_ns,
          one.event,
          one.resource,
          one.part,
          one.exact,
          one.shared,
        ]),
      explained.segments.map((one) => [
        one.kind,
        one.startNs,
        one.durationNs,
        one.event,
        one.resource,
        one.part,
        one.exact,
        one.shared,
      ]),
    );
    const worked = (one) => one.kind === 'queue' || one.kind === 'exec';
    for (const [index, one] of explained.segments.entries()) {
      const cells = byRequest.get(explained.id)[index];
      if (worked(one)) assert.equal(cells.gc_ns, one.work.gcNs);
    }
  }
});

test('sums are those of the report', async () => {
  const report = await analyzeReport(recording.folder);
  const [sums] = await ask(`select count(*) as count, floor(avg(latency_ns))::bigint as mean,
    sum(tail::int) as tail, sum(latency_ns - io_ns - queue_ns - exec_ns - unattributed_ns) as rest
    from {requests}`);
  assert.deepEqual(sums, {
    count: report.requests.count,
    mean: report.requests.meanNs,
    tail: report.tail.count,
    rest: 0,
  });
  const classes = await ask(`select tail, count(*) as count, floor(avg(io_ns))::bigint as io
    from {requests} group by tail order by tail desc`);
  const told = report.breakdown.filter(({ route }) => route === '*');
  assert.deepEqual(
    classes.map(({ count }) => count),
    told.map(({ count }) => count),
  );
  for (const [index, { io }] of classes.entries()) {
    // What rounding loses goes to the largest part of a mean.
    assert.ok(Math.abs(io - told[index].ioNs) <= 4);
  }
  const gc = await ask(`select kind, count(*) as pauses, sum(duration_ns) as total
    from {gc} group by kind order by kind`);
  const collections = report.gc
    .filter(({ pauses }) => pauses > 0)
    .map(({ kind, pauses, totalNs }) => ({ kind, pauses, total: totalNs }));
  assert.deepEqual(
    gc,
    collections.sort((a, b) => (a.kind < b.kind ? -1 : 1)),
  );
  const [inflicted] = await ask(`select sum(duration_ns) as total from {culprits}
    where type like 'gc %'`);
  const inflictedNs = report.gc.reduce((sum, one) => sum + one.inflictedNs, 0);
  assert.equal(inflicted.total ?? 0, inflictedNs);
});

test('culprits join with what they name', async () => {
  const chosen = join(recording.home, 'chosen');
  await exportRecording(recording.folder, 'parquet', chosen, { slowest: 50 });
  const [counts] = await ask(
    `select count(*) as culprits, count(s.request) as segments from {culprits} c
     left join {segments} s using (request, segment)`,
    chosen,
  );
  assert.ok(counts.culprits > 0);
  assert.equal(counts.segments, counts.culprits);
  const wrong = await ask(
    `select s.request, s.segment, s.duration_ns, sum(c.duration_ns) as told from {segments} s
     join {culprits} c using (request, segment) where s.kind = 'queue'
     group by all having told <> s.duration_ns`,
    chosen,
  );
  assert.deepEqual(wrong, []);
});

test('the columns are those of the specification', async () => {
  const spec = readFileSync(join(PACKAGE, '../../spec/tables.md'), 'utf8');
  for (const table of ['requests', 'segments', 'culprits', 'gc']) {
    const [, section] = spec.split(`## ${table}\n`);
    const told = [...section.split('\n## ')[0].matchAll(/^\| `(\w+)` \| (\w+) \|/gm)];
    const columns = await ask(`describe select * from {${table}}`);
    assert.deepEqual(
      columns.map(({ column_name: name, column_type: type }) => [name, type]),
      told.map(([, name, type]) => [name, type]),
    );
  }
});
