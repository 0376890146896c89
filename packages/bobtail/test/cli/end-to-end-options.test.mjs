/** What the options of `record` do to the recording of a service under load. */
import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { load } from './load.mjs';
import { nodes } from './nodes.mjs';
import { fixture, reportOf, startRecording } from './recordings.mjs';
import { runBobtail } from './run-bobtail.mjs';

const [{ path: NODE }] = nodes;
const SERVICE = [NODE, fixture('service.mjs'), 'http'];
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

test('--warmup leaves the first seconds out of every figure', async (t) => {
  const service = await startRecording(t, SERVICE, { flags: ['--warmup', '1.5'] });
  await load(service.port, { count: 40, path: () => '/early' });
  await sleep(1_700);
  await load(service.port, { count: 25, path: () => '/late' });
  await service.end();
  const { requests, breakdown, run } = await reportOf(service.folder);
  assert.deepEqual({ count: requests.count, warmup: requests.warmup }, { count: 25, warmup: 40 });
  assert.equal(run.warmupNs, 1_500_000_000);
  assert.ok(breakdown.every(({ route }) => !route.includes('early')));
});

test('--duration counts from listening and ends the service well', async (t) => {
  const service = await startRecording(t, SERVICE, { flags: ['--duration', '1', '--no-report'] });
  const started = performance.now();
  const answered = await load(service.port, { count: 1e6 });
  const { code, stderr } = await service.ended;
  const ms = performance.now() - started;
  assert.equal(code, 0, stderr);
  assert.ok(ms > 700 && ms < 3_000, `${ms} ms`);
  const { requests, losses } = await reportOf(service.folder);
  assert.ok(requests.count >= answered && answered > 100);
  assert.deepEqual(losses, {});
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
