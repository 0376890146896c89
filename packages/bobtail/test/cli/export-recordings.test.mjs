/**
 * Recordings of every kind in every format: of several processes, of worker threads, one that is
 * still being written, one whose client sent whatever it liked.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { countByRoute, latencyByRoute, REQUESTS_OF } from './export-readers.mjs';
import { analyzeReport, analyzeRequests, exportRecording } from './exports.mjs';
import { get, load } from './load.mjs';
import { fixture, startRecording } from './recordings.mjs';
import { makeFolder, runBobtail } from './run-bobtail.mjs';

const FORMATS = ['perfetto', 'otlp', 'pprof', 'hdr', 'parquet'];

const sumBy = (all, key, value) => {
  const sums = new Map();
  for (const one of all) sums.set(key(one), (sums.get(key(one)) ?? 0) + value(one));
  return sums;
};
const ns = ({ latencyNs }) => latencyNs;
const route = (one) => one.route;

/** Holds that every format has the requests that `explain` has, of each process and route. */
async function holdsInEveryFormat(t, folder) {
  const requests = await analyzeRequests(folder, { all: true });
  const pid = ({ id, pid }) => pid ?? Number(id.split('-')[0]);
  const cwd = makeFolder(t);
  for (const format of FORMATS) {
    const out = join(cwd, format);
    const exported = await exportRecording(folder, format, out, { all: true });
    assert.equal(exported.requests, requests.length, format);
    const read = REQUESTS_OF[format];
    if (read !== undefined) {
      const found = await read(out);
      for (const key of [pid, route]) {
        assert.deepEqual(sumBy(found, key, ns), sumBy(requests, key, ns), format);
        const one = () => 1;
        assert.deepEqual(sumBy(found, key, one), sumBy(requests, key, one), format);
      }
    }
  }
  assert.deepEqual(latencyByRoute(join(cwd, 'pprof')), sumBy(requests, route, ns));
  const counts = countByRoute(join(cwd, 'hdr'));
  assert.equal(counts.get(undefined), requests.length);
  counts.delete(undefined);
  assert.deepEqual(
    counts,
    sumBy(requests, route, () => 1),
  );
  assert.equal((await analyzeReport(folder)).requests.count, requests.length);
  assert.deepEqual(readdirSync(cwd).sort(), [...FORMATS].sort(), 'and nothing beside them');
  return requests;
}

test('a cluster: every process in every format', async (t) => {
  const service = await startRecording(t, [process.execPath, fixture('cluster.cjs'), 'exclusive']);
  const [, first] = /first (\d+)/.exec(await service.until('listening'));
  for (let n = 0; n < 20; n += 1) {
    await get(first, '/one');
    if (n % 2 === 0) await get(service.port, '/two');
  }
  const { code, stderr } = await service.end('SIGTERM');
  assert.equal(code, 0, stderr);
  const requests = await holdsInEveryFormat(t, service.folder);
  const pids = sumBy(
    requests,
    ({ id }) => id.split('-')[0],
    () => 1,
  );
  assert.deepEqual([...pids.values()].sort(), [10, 20]);
});

test('worker threads: those that serve, in every format', async (t) => {
  const service = await startRecording(t, [process.execPath, fixture('threads.cjs'), 'servers']);
  const [, second] = /second (\d+)/.exec(await service.until('listening'));
  for (let n = 0; n < 15; n += 1) {
    await get(service.port, '/one');
    if (n % 3 === 0) await get(second, '/two');
  }
  await service.end('SIGTERM');
  const requests = await holdsInEveryFormat(t, service.folder);
  const threads = sumBy(
    requests,
    ({ id }) => id.split(':')[0].split('-')[1],
    () => 1,
  );
  assert.deepEqual([...threads.values()].sort(), [15, 5]);
});

test('what a client sends is a name in every format', async (t) => {
  const paths = [
    '/<script>alert(1)</script>',
    '/"><img/src=x/onerror=alert(2)>',
    "/';drop/table/requests;--",
    '/Tag=a,b%0a,1,2',
    '/..\\..\\etc',
    '/`$(touch%20here)`',
    '/%00%ff%fe',
    `/${'long'.repeat(2000)}`,
  ];
  const service = await startRecording(t, [process.execPath, fixture('mixed.mjs')]);
  const sent = 4 * paths.length;
  const path = (n) => paths[n % paths.length];
  assert.equal(await load(service.port, { count: sent, path }), sent);
  await service.end('SIGTERM');
  const requests = await holdsInEveryFormat(t, service.folder);
  assert.equal(requests.length, sent);
  assert.ok(new Set(requests.map(route)).size > 4, 'they are several routes');
});

test('a path of its own for each request stays bounded in every answer', async (t) => {
  const NAMES = 1000;
  const letters = (n) =>
    [...n.toString(16)].map((digit) => 'ghijklmnopqrstuv'[parseInt(digit, 16)]);
  const service = await startRecording(t, [process.execPath, fixture('mixed.mjs')]);
  const count = 2 * NAMES;
  const path = (n) => `/page/${letters(n).join('')}`;
  assert.equal(await load(service.port, { count, connections: 8, path }), count);
  await service.end('SIGTERM');
  const { breakdown } = await analyzeReport(service.folder);
  const routes = new Set(breakdown.map(route));
  assert.ok(routes.size <= NAMES + 2, `${routes.size} with all and the rest`);
  assert.ok(routes.has('(other)'));
  const cwd = makeFolder(t);
  for (const format of FORMATS) {
    const out = join(cwd, format);
    const exported = await exportRecording(service.folder, format, out, { all: true });
    assert.equal(exported.requests, count, format);
  }
  const counts = countByRoute(join(cwd, 'hdr'));
  assert.ok(counts.size <= NAMES + 2, `${counts.size}`);
  assert.equal(counts.get(undefined), count);
  const diff = await runBobtail(['diff', service.folder, service.folder, '--json']);
  assert.equal(diff.code, 0, diff.stderr);
  assert.ok(JSON.parse(diff.stdout).routes.length <= 101);
});

test('a recording that is still being written is exported as far as it is', async (t) => {
  const service = await startRecording(t, [process.execPath, fixture('mixed.mjs')]);
  let answered = 0;
  let enough = false;
  t.after(() => {
    enough = true;
  });
  const onAnswer = () => {
    answered += 1;
  };
  const going = load(service.port, { count: 1e6, onAnswer, isEnough: () => enough });
  while (answered < 100) await new Promise((done) => setTimeout(done, 20));
  const cwd = makeFolder(t);
  const found = {};
  for (const format of FORMATS) {
    const before = answered;
    const out = join(cwd, format);
    const args = ['export', service.folder, '--format', format, '--out', out, '--all'];
    const { code, stderr } = await runBobtail(args);
    assert.equal(code, 0, stderr);
    const [, told] = /^bobtail: ([\d,]+) requests in /.exec(stderr);
    const requests = Number(told.replaceAll(',', ''));
    assert.ok(requests >= before && before >= 100, `${format}: ${requests} of ${before}`);
    if (REQUESTS_OF[format]) assert.equal((await REQUESTS_OF[format](out)).length, requests);
    found[format] = requests;
  }
  assert.equal(countByRoute(join(cwd, 'hdr')).get(undefined), found.hdr);
  assert.ok(latencyByRoute(join(cwd, 'pprof')).size > 0);
  assert.deepEqual(readdirSync(cwd).sort(), [...FORMATS].sort());
  enough = true;
  await going;
  await service.end('SIGTERM');
});
