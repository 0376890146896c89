/** What the options of `record` do to the recording of a service under load. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { load } from './load.mjs';
import { nodes } from './nodes.mjs';
import { fixture, reportOf, startRecording } from './recordings.mjs';
import { runBobtail } from './run-bobtail.mjs';
import { assertValid } from './schemas.mjs';

const [{ path: NODE }] = nodes;
const SERVICE = [NODE, fixture('service.mjs'), 'http'];
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** A recording with 40 requests within the warm-up, which is longer where the machine is slow. */
async function warmedUp(t, seconds) {
  const startedMs = performance.now();
  const service = await startRecording(t, SERVICE, { flags: ['--warmup', String(seconds)] });
  await load(service.port, { count: 40, path: () => '/early' });
  // It listened after it was started, so the warm-up is not over yet.
  if (performance.now() - startedMs < seconds * 1_000) return { service, seconds };
  await service.end();
  return warmedUp(t, 2 * seconds);
}

test('--warmup leaves the first seconds out of every figure', async (t) => {
  const { service, seconds } = await warmedUp(t, 1.5);
  await sleep(seconds * 1_000);
  await load(service.port, { count: 25, path: () => '/late' });
  await service.end();
  const { requests, breakdown, run } = await reportOf(service.folder);
  assert.deepEqual({ count: requests.count, warmup: requests.warmup }, { count: 25, warmup: 40 });
  assert.equal(run.warmupNs, seconds * 1e9);
  assert.ok(breakdown.every(({ route }) => !route.includes('early')));
});

test('--duration counts from listening and ends the service well', async (t) => {
  const startedMs = performance.now();
  const service = await startRecording(t, SERVICE, { flags: ['--duration', '1', '--no-report'] });
  const answered = await load(service.port, { count: 1e6 });
  const { code, stderr } = await service.ended;
  assert.equal(code, 0, stderr);
  assert.ok(performance.now() - startedMs >= 1_000);
  assert.doesNotMatch(stderr, /killed/);
  const { requests, losses, run } = await reportOf(service.folder);
  assert.ok(requests.count >= answered && answered > 0);
  assert.deepEqual(losses, {});
  assert.deepEqual(run.outcome, { exitCode: null, signal: 'SIGTERM' });
});

for (const { path, version } of nodes) {
  test(`${version}: --detail loop has every latency, and says that it is loop`, async (t) => {
    const command = [path, fixture('service.mjs'), 'http'];
    const service = await startRecording(t, command, { flags: ['--detail', 'loop'] });
    assert.equal(await load(service.port, { count: 200 }), 200);
    await service.end();
    const { requests, run, losses } = await reportOf(service.folder);
    assert.equal(requests.count, 200);
    assert.equal(run.detail, 'loop');
    assert.deepEqual(losses, {});
    const { stdout } = await runBobtail(['report', service.folder]);
    assert.match(stdout, /recorded with --detail loop/);
  });

  test(`${version}: --every and --for record bursts, told with their share`, async (t) => {
    const command = [path, fixture('service.mjs'), 'http'];
    const flags = ['--every', '500ms', '--for', '0.1s'];
    const service = await startRecording(t, command, { flags });
    let answered = 0;
    const periods = async () => (await reportOf(service.folder)).run.durationNs / 500e6;
    do {
      answered += await load(service.port, { count: 200, path: () => '/hello' });
    } while ((await periods()) < 4);
    await service.end();
    const { run, requests, losses } = await reportOf(service.folder);
    assert.ok(requests.count > 0 && requests.complete === requests.count, JSON.stringify(requests));
    assert.ok(requests.count + requests.straddling < answered, `all of ${answered}`);
    assert.deepEqual(losses, {});
    // A loop that is late may record longer than it was asked to, but pauses in each period.
    assert.ok(run.recordedNs < run.durationNs * 0.9, `${run.recordedNs} of ${run.durationNs}`);
    const { stdout } = await runBobtail(['report', service.folder]);
    assert.match(stdout, /recorded \d+(\.\d+)? % of \d/);
    const settings = JSON.parse(readFileSync(join(service.folder, 'run.json'), 'utf8'));
    assertValid('run', settings);
    assert.deepEqual(settings.bursts, { everyNs: 500_000_000, forNs: 100_000_000 });
  });

  test(`${version}: --max-size bounds the file, keeps the end, and tells the rest`, async (t) => {
    const command = [path, fixture('service.mjs'), 'http'];
    const MAX_BYTES = 3 * 2 ** 20;
    const service = await startRecording(t, command, { flags: ['--max-size', '3m'] });
    let answered = 0;
    const isOverwritten = async () => (await reportOf(service.folder)).losses.overwritten > 0;
    do {
      assert.ok(answered < 50_000, 'nothing is ever overwritten');
      answered += await load(service.port, { count: 5_000 });
    } while (!(await isOverwritten()));
    assert.equal(await load(service.port, { count: 20, path: () => '/hello' }), 20);
    await service.end();
    const [trace] = readdirSync(service.folder).filter((name) => name.endsWith('.trace'));
    const { blocks, size } = statSync(join(service.folder, trace));
    assert.ok(blocks * 512 <= MAX_BYTES, `${blocks * 512} bytes on disk`);
    assert.ok(size <= MAX_BYTES, `${size} bytes long`);
    const { requests, losses, breakdown } = await reportOf(service.folder);
    assert.ok(losses.overwritten > 0, JSON.stringify(losses));
    assert.ok(requests.count < answered && requests.count > 100, `${requests.count} requests`);
    assert.ok(requests.truncated <= 8, `${requests.truncated} truncated`);
    assert.ok(breakdown.some(({ route }) => route === 'GET /hello'));
    const { stdout } = await runBobtail(['report', service.folder]);
    assert.match(stdout, /lost: [\d,]+ overwritten/);
  });
}
