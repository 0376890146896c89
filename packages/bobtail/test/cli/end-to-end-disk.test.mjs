/** Disks that are full or read-only: the service runs, and what was recorded before is told. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { load } from './load.mjs';
import { nodes } from './nodes.mjs';
import { fixture, reportOf, startRecording } from './recordings.mjs';
import { makeFolder, PACKAGE, runBobtail } from './run-bobtail.mjs';
import { mountSmallDisk, noSmallDisk } from './small-disk.mjs';

const { readTraceTotals } = createRequire(import.meta.url)(
  join(PACKAGE, 'dist/cli/record/trace-headers.js'),
);
const [{ path: NODE }] = nodes;
const SERVICE = [NODE, fixture('service.mjs'), 'http'];
const skip = noSmallDisk;

/** Writes zeros until nothing more fits; `keepBytes` stay free. */
function fill(folder, keepBytes = 0) {
  const { bavail, bsize } = statfsSync(folder);
  writeFileSync(join(folder, 'fill'), Buffer.alloc(bavail * bsize - keepBytes));
}

/** Requests until none of a round's records is lost any more. */
async function loadUntilKept(port, folder) {
  const lost = () => readTraceTotals(folder).lostToFullDisk;
  const deadline = Date.now() + 30_000;
  for (let before = -1; before !== lost(); ) {
    assert.ok(Date.now() < deadline, 'recording does not go on');
    before = lost();
    await load(port, { count: 100 });
  }
}

/** Requests until records are lost; resolves to how many were answered, all that were sent. */
async function loadUntilLost(port, folder) {
  const ROUND = 2_000;
  let answered = 0;
  while (readTraceTotals(folder).lostToFullDisk === 0) {
    assert.ok(answered < 20 * ROUND, 'nothing is lost on a full disk');
    assert.equal(await load(port, { count: ROUND, connections: 8 }), ROUND);
    answered += ROUND;
  }
  return answered;
}

for (const { path, version } of nodes) {
  test(`${version}: a disk that fills up while recording`, { skip }, async (t) => {
    const disk = mountSmallDisk(t);
    const flags = ['--out', join(disk, 'recording')];
    const command = [path, fixture('service.mjs'), 'http'];
    const service = await startRecording(t, command, { flags });
    const folder = join(disk, 'recording');
    assert.equal(await load(service.port, { count: 500 }), 500);
    fill(disk);
    const more = await loadUntilLost(service.port, folder);
    const { signal, stderr } = await service.end('SIGTERM');
    assert.equal(signal, 'SIGTERM', stderr);
    assert.match(stderr, /\nbobtail: disk full: [\d,]+ records lost \(.*recording\)\n/);
    assert.match(stderr, /\nbobtail: disk full \(.*run\.json\)\n/);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith('.tmp')),
      [],
    );
    const { requests, losses, run } = await reportOf(folder);
    assert.ok(requests.count >= 500 && requests.count < 500 + more, `${requests.count} requests`);
    assert.ok(losses['disk-full'] > 0, JSON.stringify(losses));
    assert.equal(losses.damaged, undefined);
    const { ended } = run.processes.find(({ pid }) => pid === service.pid);
    assert.equal(ended.reason, 'disk-full');
    const { stdout } = await runBobtail(['report', folder]);
    const said = `\nrecording of ${service.pid}-0 ended after .* \\(the disk is full\\)\n`;
    assert.match(stdout, new RegExp(said));
    assert.equal(run.outcome, null, 'the end could not be written');
  });
}

test('recording goes on when the disk has room again', { skip }, async (t) => {
  const disk = mountSmallDisk(t);
  const flags = ['--out', join(disk, 'recording')];
  const service = await startRecording(t, SERVICE, { flags });
  fill(disk);
  await loadUntilLost(service.port, join(disk, 'recording'));
  rmSync(join(disk, 'fill'));
  await loadUntilKept(service.port, join(disk, 'recording'));
  await load(service.port, { count: 200, path: () => '/hello' });
  const { stderr } = await service.end('SIGTERM');
  const { breakdown, losses, run } = await reportOf(join(disk, 'recording'));
  const [, lost] = /\nbobtail: disk full: ([\d,]+) records? lost /.exec(stderr);
  assert.equal(losses['disk-full'], Number(lost.replaceAll(',', '')), 'as record told');
  const [, all] = / ([\d,]+) lost · /.exec(stderr);
  const sum = losses['disk-full'] + (losses['no-chunk'] ?? 0);
  assert.equal(sum, Number(all.replaceAll(',', '')), stderr);
  const rows = breakdown.filter(({ route }) => route === 'GET /hello');
  const late = rows.reduce((sum, { count }) => sum + count, 0);
  assert.equal(late, 200, 'after the disk had room again');
  assert.deepEqual(run.outcome, { exitCode: null, signal: 'SIGTERM' });
});

test('a disk that is nearly full is refused before the service starts', { skip }, async (t) => {
  const disk = mountSmallDisk(t);
  fill(disk, 1e6);
  const out = join(disk, 'recording');
  const args = ['record', '--out', out, '--', NODE, '-p', '"ran"'];
  const result = await runBobtail(args, { cwd: makeFolder(t) });
  assert.deepEqual(result, {
    code: 74,
    signal: null,
    stdout: '',
    stderr: `bobtail: disk full: less than 16 MB free (${out})\n`,
  });
  assert.equal(existsSync(out), false);
  const anyway = await runBobtail(['record', '--best-effort', ...args.slice(1)]);
  assert.equal(anyway.code, 0);
  assert.equal(anyway.stdout, 'ran\n');
});

test('a disk full at the end: 74 when the service ended well', { skip }, async (t) => {
  const disk = mountSmallDisk(t);
  const folder = join(disk, 'recording');
  const gate = join(makeFolder(t), 'gate');
  const untilFilled = `while [ ! -e "${gate}" ]; do sleep 0.1; done`;
  const flags = ['--out', folder, '--on-port', untilFilled, '--no-report'];
  const service = await startRecording(t, SERVICE, { flags });
  await load(service.port, { count: 50 });
  fill(disk);
  writeFileSync(gate, '');
  const { code, stderr } = await service.ended;
  assert.equal(code, 74, stderr);
  assert.match(stderr, /\nbobtail: disk full \(.*run\.json\)\n/);
  assert.equal(JSON.parse(readFileSync(join(folder, 'run.json'), 'utf8')).outcome, null);
  assert.equal((await reportOf(folder)).requests.count, 50);
});

test('a second process that finds the disk full does not hide the first', { skip }, async (t) => {
  const disk = mountSmallDisk(t);
  const folder = join(disk, 'recording');
  const start = `"${NODE}" "${fixture('service.mjs')}" http`;
  const gate = join(makeFolder(t), 'gate');
  const script = `${start} & while [ ! -e "${gate}" ]; do sleep 0.1; done; ${start} & wait`;
  const service = await startRecording(t, ['sh', '-c', script], { flags: ['--out', folder] });
  await load(service.port, { count: 50 });
  fill(disk);
  writeFileSync(gate, '');
  await service.until(/listening [\s\S]*listening .*\n/);
  const pids = [...(await service.until(/listening/)).matchAll(/pid (\d+)/g)].map(([, pid]) => pid);
  assert.equal(pids.length, 2);
  for (const pid of pids) process.kill(Number(pid), 'SIGTERM');
  const { stderr } = await service.ended;
  assert.match(stderr, /bobtail: not recording this process: .*No space left/);
  assert.equal((await reportOf(folder)).requests.count, 50);
});

test('a read-only disk is refused', { skip }, async (t) => {
  const disk = mountSmallDisk(t, { readOnly: true });
  const out = join(disk, 'recording');
  const result = await runBobtail(['record', '--out', out, '--', NODE, '-p', '1']);
  const stderr = `bobtail: cannot write: read-only file system (${out})\n`;
  assert.deepEqual(result, { code: 73, signal: null, stdout: '', stderr });
});
