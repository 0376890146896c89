/** `boost` where its own place is full: the service runs, and what is told is true. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { BASE, makeTree } from './boosted.mjs';
import { load } from './load.mjs';
import { fixture } from './recordings.mjs';
import { makeFolder, runBobtail, startBobtail } from './run-bobtail.mjs';
import { assertValid } from './schemas.mjs';
import { mountSmallDisk, noSmallDisk } from './small-disk.mjs';

const CHURN = fixture('churn.mjs');
const BLOCK = Buffer.alloc(4096);

/** Leaves no room on a disk. */
function fill(disk) {
  try {
    for (let n = 0; ; n += 1) writeFileSync(join(disk, `filler-${n}`), BLOCK);
  } catch (error) {
    assert.equal(error.code, 'ENOSPC');
  }
}

/** A boost of a tree of files whose own place is on a disk. */
function boostOn(t, disk) {
  const tree = makeTree(makeFolder(t));
  const policy = ['--policy', 'gc-boost:worth=0,hold=1ms'];
  const lever = ['--actuator', 'cpufreq', '--lever-root', tree.root, ...policy];
  const cwd = makeFolder(t);
  const args = ['boost', ...lever, '--out', join(cwd, 'boost.json'), '--'];
  const summary = () => {
    const told = JSON.parse(readFileSync(join(cwd, 'boost.json'), 'utf8'));
    assertValid('boost', told);
    return told;
  };
  return { tree, args, cwd, env: { BOBTAIL_RUN_DIR: disk, TMPDIR: cwd }, summary };
}

for (const [what, options, reason] of [
  ['full', { megabytes: 1 }, /no lever: ENOSPC/],
  ['read-only', { megabytes: 1, readOnly: true }, /no place to boost from: EROFS/],
]) {
  test(`a service runs unboosted where that is ${what}`, { skip: noSmallDisk }, async (t) => {
    const disk = mountSmallDisk(t, options);
    if (!options.readOnly) fill(disk);
    const { args, cwd, env, summary } = boostOn(t, disk);
    const command = [process.execPath, '-e', 'console.log("served")'];
    const { code, stdout, stderr } = await runBobtail([...args, ...command], { cwd, env });
    assert.deepEqual([code, stdout], [80, 'served\n'], stderr);
    assert.match(stderr, /^bobtail: [^\n]*; the service runs unboosted\n$/);
    assert.match(summary().refused, reason);
  });
}

test('who has no room to tell anything is told by that', { skip: noSmallDisk }, async (t) => {
  const disk = mountSmallDisk(t, { megabytes: 1 });
  const { tree, args, cwd, env, summary } = boostOn(t, disk);
  const script = `
    const { writeFileSync } = require('node:fs');
    try { for (let n = 0; ; n += 1) writeFileSync('${disk}/filler-' + n, Buffer.alloc(4096)); }
    catch { require('node:http').createServer().listen(0, '127.0.0.1'); }
    setTimeout(() => process.exit(0), 500);`;
  const command = [process.execPath, '-e', script];
  const { code, stderr } = await runBobtail([...args, ...command], { cwd, env });
  assert.equal(code, 80, stderr);
  assert.match(summary().refused, /no room to tell anything/);
  assert.equal(tree.khz(0), BASE);
});

test('what is told is whole where the disk fills up meanwhile', {
  skip: noSmallDisk,
}, async (t) => {
  const disk = mountSmallDisk(t, { megabytes: 1 });
  const { tree, args, cwd, env, summary } = boostOn(t, disk);
  const run = startBobtail([...args, process.execPath, CHURN, 'well'], { cwd, env });
  t.after(() => run.child.exitCode === null && run.child.kill('SIGTERM'));
  const [, port] = /listening (\d+)/.exec(await run.until(/listening \d+\n/));
  await load(Number(port), { count: 1 });
  fill(disk);
  await load(Number(port), { count: 29 });
  run.child.kill('SIGTERM');
  const { code, stderr } = await run.ended;
  assert.equal(code, 0, stderr);
  const { counters, requests } = summary();
  assert.equal(requests.count, 30);
  assert.ok(counters.boosts >= 1 && counters.forCollection === counters.boosts, stderr);
  assert.equal(tree.khz(0), BASE);
});
