/** What can be wrong, each with one clear line and a code, and the service running where it can. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { abort, get, load } from './load.mjs';
import { nodes } from './nodes.mjs';
import { fixture, packageWithProbe, reportOf, startRecording } from './recordings.mjs';
import { MAIN, makeFolder, PACKAGE, runBobtail } from './run-bobtail.mjs';

const [{ path: NODE }] = nodes;
const SERVICE = [NODE, fixture('service.mjs'), 'http'];

/** The oldest Node that is refused; an optional dependency, as the others. */
const NODE_18 = join(PACKAGE, '../../node_modules/node18/bin/node');
const skipOld =
  existsSync(NODE_18) || process.env.CI === 'true' ? false : 'node18 is not installed';

/** The real probe, said to be for another processor. */
function foreignProbe() {
  const E_MACHINE = 18;
  const AARCH64 = 183;
  const X86_64 = 62;
  const bytes = readFileSync(join(PACKAGE, 'native/bobtail-probe.node'));
  bytes.writeUInt16LE(process.arch === 'arm64' ? X86_64 : AARCH64, E_MACHINE);
  return bytes;
}

for (const [name, bytes] of [
  ['garbage', Buffer.from('no library')],
  ['empty', Buffer.alloc(0)],
  ['of another processor', foreignProbe()],
]) {
  for (const { path, version } of nodes) {
    test(`${version}: a probe that is ${name}: 69, and the service is undisturbed`, async (t) => {
      const main = packageWithProbe(t, bytes);
      const command = [path, fixture('service.mjs'), 'http'];
      const service = await startRecording(t, command, { main });
      assert.equal(await get(service.port, '/hello'), 'hello');
      assert.equal(await get(service.port, '/quit'), 'bye');
      const { code, stderr } = await service.ended;
      assert.equal(code, 69, stderr);
      assert.match(stderr, /\nbobtail: nothing recorded: .*bobtail-probe\.node.*\n$/);
      assert.deepEqual(readdirSync(service.cwd), [], 'no folder is left');
    });
  }
}

test('no request: 67, from record, report and explain', async (t) => {
  const service = await startRecording(t, SERVICE, { flags: ['--duration', '0.3'] });
  const { code, stdout, stderr } = await service.ended;
  assert.equal(code, 67);
  assert.match(stderr, /\nbobtail: no request was recorded \(.*recording\.bobtail\)\n$/);
  assert.match(stdout, /^listening .*\n$/);
  for (const verb of ['report', 'explain']) {
    const result = await runBobtail([verb, service.folder, '--json']);
    assert.equal(result.code, 67);
    assert.match(result.stderr, /^bobtail: no finished request was recorded \(.*\)\n$/);
  }
});

for (const { path, version } of nodes) {
  test(`${version}: responses that clients abort are counted apart`, async (t) => {
    const service = await startRecording(t, [path, fixture('service.mjs'), 'http']);
    assert.equal((await get(service.port, '/large')).length, 16 << 20);
    for (let i = 0; i < 3; i += 1) await abort(service.port, '/large');
    // Answered after the service has seen that the aborted connections are closed.
    await load(service.port, { count: 20 });
    await service.end();
    const { requests } = await reportOf(service.folder);
    assert.equal(requests.cutOff, 3);
    assert.equal(requests.count + requests.unfinished, 24);
    const { stdout } = await runBobtail(['report', service.folder]);
    assert.match(stdout, /\n3 of 24 requests cut off: /);
  });
}

test('too few requests for a tail: the report falls back and says so', async (t) => {
  const service = await startRecording(t, SERVICE);
  await load(service.port, { count: 150 });
  await service.end();
  const { tail, findings, requests } = await reportOf(service.folder, '--tail', 'p99.99');
  assert.equal(tail.requestedPercentile, 99.99);
  assert.equal(tail.percentile, 90);
  assert.equal(tail.note, 'p99.99 needs 100,000 requests, there are 150: p90 is told instead');
  assert.ok(findings.some(({ code }) => code === 'too-few-requests'));
  assert.deepEqual(Object.keys(requests.percentilesNs).sort(), ['50', '75', '90']);
  const { stdout } = await runBobtail(['report', service.folder]);
  assert.match(stdout, /^p90 /);
  assert.match(stdout, /\np99\.9 needs 10,000 requests, there are 150: p90 is told instead\n/);
});

test('a Node that is too old is refused, and its service is not started', {
  skip: skipOld,
}, async (t) => {
  const [, ...rest] = SERVICE;
  const result = await runBobtail(['record', '--', NODE_18, ...rest], { cwd: makeFolder(t) });
  const line = /^bobtail: Node\.js 20 or newer is needed \(v18\.\d+\.\d+\)\n$/;
  assert.equal(result.code, 69);
  assert.match(result.stderr, line);
  assert.equal(result.stdout, '');
  const own = spawnSync(NODE_18, [MAIN, 'report', 'x'], { encoding: 'utf8' });
  assert.equal(own.status, 69);
  assert.match(own.stderr, line);
});

test('a Node that is too old behind a shell: told, and it serves', { skip: skipOld }, async (t) => {
  const command = `"${NODE_18}" "${fixture('service.mjs')}" http; true`;
  const service = await startRecording(t, ['sh', '-c', command]);
  assert.equal(await get(service.port, '/hello'), 'hello');
  assert.equal(await get(service.port, '/quit'), 'bye');
  const { code, stderr } = await service.ended;
  assert.equal(code, 69, stderr);
  assert.match(
    stderr,
    /\nbobtail: nothing recorded: Node\.js 20 or newer is needed \(v18\.\d+\.\d+\)\n$/,
  );
  assert.deepEqual(readdirSync(service.cwd), []);
});

test('a recording is read while it is written', async (t) => {
  const service = await startRecording(t, SERVICE, { flags: ['--max-size', '3m'] });
  await load(service.port, { count: 100 });
  let answered = 0;
  let reports = 0;
  const loaded = load(service.port, {
    count: 1e6,
    connections: 8,
    onAnswer: () => answered++,
    isEnough: () => answered >= 15_000 && reports >= 3,
  });
  while (answered < 15_000 || reports < 3) {
    const { run, losses } = await reportOf(service.folder);
    assert.equal(run.outcome, null);
    assert.equal(losses.damaged, undefined);
    const one = await runBobtail(['explain', service.folder, '--slowest', '2', '--json']);
    assert.equal(one.code, 0, one.stderr);
    reports += 1;
  }
  await loaded;
  const { stdout } = await runBobtail(['report', service.folder]);
  assert.match(stdout, /still being recorded, or the recorder was killed/);
  await service.end();
});

test('kill -9 of the recorder: the service goes on, and so does its recording', async (t) => {
  const service = await startRecording(t, SERVICE);
  t.after(() => {
    try {
      process.kill(service.pid, 'SIGKILL');
    } catch (error) {
      assert.equal(error.code, 'ESRCH');
    }
  });
  await load(service.port, { count: 200 });
  service.recorder.kill('SIGKILL');
  await new Promise((done) => service.recorder.once('exit', done));
  assert.equal(await load(service.port, { count: 100 }), 100);
  const report = await reportOf(service.folder);
  assert.equal(report.requests.count, 300);
  assert.equal(report.run.outcome, null);
  assert.deepEqual(report.losses, {});
  process.kill(service.pid, 'SIGTERM');
  await service.ended;
  assert.equal((await reportOf(service.folder)).requests.count, 300);
});

test('an empty trace beside others is passed over; a foreign one is named', async (t) => {
  const service = await startRecording(t, SERVICE);
  await load(service.port, { count: 20 });
  await service.end();
  writeFileSync(join(service.folder, '999999-0.trace'), '');
  writeFileSync(join(service.folder, '999998-0.trace'), Buffer.alloc(4096));
  assert.equal((await reportOf(service.folder)).requests.count, 20);
  copyFileSync(join(service.folder, 'run.json'), join(service.folder, '999997-0.trace'));
  const result = await runBobtail(['report', service.folder]);
  assert.equal(result.code, 68);
  assert.match(result.stderr, /^bobtail: not a Bobtail trace: .*999997-0\.trace\)\n$/);
});
