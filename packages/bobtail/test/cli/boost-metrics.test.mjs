/** `boost --metrics` and `--otlp`: what is told, read by parsers that others wrote. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import parsePrometheus from 'parse-prometheus-text-format';
import { leaveOut } from '../../../../workloads/harness/leave-out.mjs';
import { publishedSchema } from './exports.mjs';
import { load } from './load.mjs';
import { fixture } from './recordings.mjs';
import { makeFolder, PACKAGE, runBobtail, startBobtail } from './run-bobtail.mjs';
import { assertValid } from './schemas.mjs';

const require = createRequire(import.meta.url);
const dist = (name) => require(join(PACKAGE, 'dist/cli/boost', `${name}.js`));
const { metricsOf } = dist('metrics/metrics');
const { renderPrometheus, parseAddress } = dist('metrics/prometheus');
const { toOtlp, parseEndpoint } = dist('metrics/otlp');
const { figuresOf, latencyOfBucketNs, since, NOTHING } = dist('latencies');
const { startMetering } = dist('energy');
const { summarize } = dist('summary');

const COUNT = 40;
const BUCKETS = new Map([
  [1000, 3],
  [1800, 5],
]);
const COUNTED = { buckets: BUCKETS, count: 8, sumNs: 2_000_000, longestNs: 700_000 };
const HELD = { lost: null, isLost: false };
const COUNTERS = {
  looks: 10,
  lookingNs: 150e3,
  boosts: 4,
  boostedNs: 250e6,
  forCollection: 3,
  forQueueLength: 0,
  forHead: 1,
  forLongTurn: 0,
  refused: 2,
  lostNs: 0,
};

/** What is known of a boost, made up. */
function live(policy = 'p', more = {}) {
  const range = { base: 2_600_000, peak: 4_000_000 };
  const driven = { policy, lever: 'emulated', about: 'a', isEmulated: true, ...range, ...more };
  const teller = { key: '1-1', pid: 7, namespace: '', missing: [] };
  const file = { ...teller, driven, ranNs: 1e9, counters: COUNTERS, hold: HELD };
  const drive = { policy, actuator: 'emulated' };
  const seen = {
    counted: COUNTED,
    energy: { kind: 'measured', joules: 12.5 },
    raised: [],
  };
  const summary = summarize(drive, [file], seen);
  assertValid('boost', summary);
  const recent = { ...summary.requests, percentilesNs: { 50: 1e6, 99.9: 4e6 } };
  return { summary, counted: COUNTED, recent, isWaiting: false };
}

/** Metrics by name, as a parser of Prometheus' own format sees them. */
function parsed(text) {
  return Object.fromEntries(parsePrometheus(text).map((metric) => [metric.name, metric]));
}

function schema() {
  return publishedSchema(
    'opentelemetry-proto',
    'src/proto/opentelemetry-proto',
    'opentelemetry/proto/collector/metrics/v1/metrics_service.proto',
  ).lookupType('opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest');
}

/** Through bytes of the published schema and back: fields that it does not know are lost. */
function throughSchema(body) {
  const Request = schema();
  const bytes = Request.encode(Request.fromObject(body)).finish();
  return Request.toObject(Request.decode(bytes), { longs: String, enums: Number });
}

test('Prometheus reads every number, whatever a label holds', () => {
  const policy = 'odd "policy" \\ of\ntwo lines';
  const found = parsed(renderPrometheus(metricsOf(live(policy))));
  const value = (name) => Number(found[name].metrics[0].value);
  assert.equal(found.bobtail_boost_info.metrics[0].labels.policy, policy);
  assert.equal(value('bobtail_boosts_total'), 4);
  assert.equal(value('bobtail_boosted_seconds_total'), 0.25);
  assert.equal(value('bobtail_lever_refusals_total'), 2);
  assert.equal(value('bobtail_energy_ratio'), 1 + 1.712 * 0.25);
  assert.equal(found.bobtail_boosts_total.type, 'COUNTER');
  const [latency] = found.bobtail_request_latency_seconds.metrics;
  assert.equal(found.bobtail_request_latency_seconds.type, 'HISTOGRAM');
  assert.deepEqual([latency.count, latency.sum], ['8', '0.002']);
  // 1000 is in the bucket of 14 µs, 1800 in that of 1.06 ms.
  assert.equal(latency.buckets['0.0001'], '3');
  assert.equal(latency.buckets['0.002'], '8');
  assert.equal(latency.buckets['+Inf'], '8');
  const quantiles = found.bobtail_request_latency_quantile_seconds.metrics;
  assert.deepEqual(
    quantiles.map(({ labels, value }) => [labels.quantile, value]),
    [
      ['0.5', '0.001'],
      ['0.999', '0.004'],
    ],
  );
});

test('energy is that of the counters where the lever is real', () => {
  const found = parsed(renderPrometheus(metricsOf(live('p', { isEmulated: false }))));
  assert.equal(found.bobtail_energy_joules_total.metrics[0].value, '12.5');
  assert.equal(found.bobtail_energy_ratio, undefined);
});

test('the counters of all packages are summed, also when they wrap around', (t) => {
  const root = makeFolder(t);
  const zone = (name) => join(root, 'sys/class/powercap', name);
  const write = (name, file, value) => writeFileSync(join(zone(name), file), `${value}\n`);
  for (const [name, counted] of [
    ['intel-rapl:0', 'package-0'],
    ['intel-rapl:1', 'package-1'],
    // Part of a package, which would count twice.
    ['intel-rapl:0:0', 'core'],
  ]) {
    mkdirSync(zone(name), { recursive: true });
    write(name, 'name', counted);
    write(name, 'max_energy_range_uj', 9_999_999);
    write(name, 'energy_uj', 9_000_000);
  }
  const energy = startMetering(root);
  assert.deepEqual(energy(), { kind: 'measured', joules: 0 });
  write('intel-rapl:0', 'energy_uj', 9_500_000);
  write('intel-rapl:1', 'energy_uj', 1_000_000);
  write('intel-rapl:0:0', 'energy_uj', 9_900_000);
  assert.deepEqual(energy(), { kind: 'measured', joules: 2.5 });
  rmSync(join(zone('intel-rapl:0'), 'energy_uj'));
  assert.equal(energy(), null);
  assert.equal(startMetering(makeFolder(t))(), null);
});

test("OpenTelemetry's schema knows every field", () => {
  const teller = { service: 'shop', version: '0.1.0', startMs: 1_700_000_000_000 };
  const body = toOtlp(metricsOf(live()), teller, 1_700_000_001_500.25);
  const back = throughSchema(body);
  // Empty lists and zeros are not on the wire; everything else comes back as it was.
  const pruned = (value) => {
    if (Array.isArray(value)) return value.map(pruned);
    if (typeof value !== 'object' || value === null) return value;
    const kept = Object.entries(value).filter(([, v]) => !(Array.isArray(v) && v.length === 0));
    return Object.fromEntries(kept.map(([name, v]) => [name, pruned(v)]));
  };
  assert.deepEqual(pruned(back), pruned(JSON.parse(JSON.stringify(body))));
  const { metrics } = body.resourceMetrics[0].scopeMetrics[0];
  assert.ok(metrics.length > 8);
  const { histogram } = metrics.find(({ name }) => name === 'bobtail_request_latency_seconds');
  assert.equal(histogram.dataPoints[0].timeUnixNano, '1700000001500250000');
});

test('a bucket tells its middle, and figures only what is supported', () => {
  assert.equal(latencyOfBucketNs(5), 5);
  for (const bucket of [200, 1000, 2500, 4000]) {
    const [here, next] = [latencyOfBucketNs(bucket), latencyOfBucketNs(bucket + 1)];
    assert.ok(next > here && next < here * 1.009, `${bucket}`);
  }
  assert.equal(figuresOf(NOTHING), null);
  const { percentilesNs, meanNs } = figuresOf(COUNTED);
  assert.deepEqual([percentilesNs, meanNs], [{}, 250_000]);
  const more = { ...COUNTED, buckets: new Map([...BUCKETS, [1800, 25]]), count: 28 };
  assert.deepEqual([...since(COUNTED, more).buckets], [[1800, 20]]);
  assert.deepEqual(Object.keys(figuresOf(more).percentilesNs), ['50']);
});

test('addresses are taken or refused', () => {
  assert.deepEqual(parseAddress('9464', '--metrics'), { host: '127.0.0.1', port: 9464 });
  assert.deepEqual(parseAddress('[::1]:0', '--metrics'), { host: '::1', port: 0 });
  assert.equal(String(parseEndpoint('http://h:4318', '--otlp')), 'http://h:4318/v1/metrics');
  assert.equal(String(parseEndpoint('https://h/in', '--otlp')), 'https://h/in');
});

for (const [flags, code, message] of [
  [['--metrics', 'here'], 64, /--metrics takes an address.*\(here\)/],
  [['--metrics', '127.0.0.1:70000'], 64, /--metrics takes an address/],
  [['--metrics', '192.0.2.1:9'], 73, /--metrics cannot listen: .* \(192\.0\.2\.1:9\)/],
  [['--otlp', 'ftp://x'], 64, /--otlp takes a URL.*\(ftp:\/\/x\)/],
  [['--otlp', 'http://u:secret@h:4318'], 64, /^[^\n]*--otlp takes a URL without .* \(h:4318\)$/m],
]) {
  test(`${flags.join(' ')} is refused before anything starts`, async () => {
    const command = [process.execPath, '-e', 'console.log("started")'];
    const end = await runBobtail(['boost', ...flags, '--quiet', '--', ...command]);
    assert.equal(end.code, code, end.stderr);
    assert.equal(end.stdout, '');
    assert.match(end.stderr, message);
  });
}

/** A receiver of OTLP over HTTP that keeps what it is sent. */
async function receiver(t) {
  const bodies = [];
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const isJson = request.headers['content-type'] === 'application/json';
    if (isJson && request.url === '/v1/metrics') bodies.push(Buffer.concat(chunks).toString());
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${server.address().port}`, bodies };
}

test('both are told while a service runs, and it counts its requests', async (t) => {
  if (process.getuid() !== 0) return leaveOut(t, 'needs root');
  const cwd = makeFolder(t);
  const { url, bodies } = await receiver(t);
  const told = ['--metrics', '127.0.0.1:0', '--otlp', url, '--out', 'boost.json'];
  const args = ['boost', '--actuator', 'emulated', '--policy', 'gc-boost:worth=0', ...told];
  const { child, ended, until } = startBobtail(
    [...args, '--', process.execPath, fixture('churn.mjs')],
    { cwd },
  );
  // A test that fails leaves both running, and their pipes would keep the runner waiting.
  t.after(() => {
    if (child.exitCode === null) child.kill('SIGTERM');
    child.stdout.destroy();
    child.stderr.destroy();
  });
  const [, port] = /listening (\d+)/.exec(await until(/listening \d+\n/));
  assert.equal(await load(Number(port), { count: COUNT }), COUNT);
  const [, metrics] = /metrics at (http\S+)/.exec(await until(/metrics at http\S+\n/));
  // A client may have an answer before the service has counted it.
  let counted = 0;
  while (counted < COUNT) {
    const found = parsed(await (await fetch(metrics)).text());
    counted = Number(found.bobtail_request_latency_seconds.metrics[0].count);
  }
  assert.equal(counted, COUNT);
  assert.equal((await fetch(new URL('/other', metrics))).status, 404);
  child.kill('SIGTERM');
  const { code, stderr } = await ended;
  assert.equal(code, 6, stderr);
  const summary = JSON.parse(readFileSync(join(cwd, 'boost.json'), 'utf8'));
  assertValid('boost', summary);
  assert.equal(summary.requests.count, COUNT);
  assert.ok(summary.requests.percentilesNs['50'] <= summary.requests.longestNs * 1.01);
  assert.match(stderr, new RegExp(`^ {2}${COUNT} requests · p50 `, 'm'));
  // The last is sent when the service has ended.
  const last = throughSchema(JSON.parse(bodies.at(-1)));
  const { metrics: sent } = last.resourceMetrics[0].scopeMetrics[0];
  const { histogram } = sent.find(({ name }) => name === 'bobtail_request_latency_seconds');
  assert.equal(histogram.dataPoints[0].count, String(COUNT));
});

test('a receiver that is away is told once, and the service ends as it would', async (t) => {
  const { url } = await receiver(t);
  const away = new URL(url);
  away.port = '9';
  const command = [process.execPath, '-e', 'process.exit(3)'];
  const end = await runBobtail(['boost', '--otlp', away.origin, '--', ...command]);
  assert.equal(end.code, 3, end.stderr);
  assert.equal(end.stderr.match(/metrics were not taken: /g).length, 1);
});

for (const flags of [
  ['--otlp', 'http://127.0.0.1:9'],
  ['--metrics', '127.0.0.1:0'],
]) {
  test(`${flags[0]} does not keep a command waiting that cannot be started`, async () => {
    const { code, stderr } = await runBobtail(['boost', ...flags, '--', './no-such-command']);
    assert.equal(code, 127, stderr);
    assert.match(stderr, /command not found/);
  });
}
