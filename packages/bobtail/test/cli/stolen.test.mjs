/** What the recorder notes of time that the hypervisor takes: how much, and when. */
import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { readStealNs, StolenWatch } from '../../dist/cli/record/stolen.js';
import { makeFolder } from './run-bobtail.mjs';

const TICK_NS = 10_000_000;
const nowNs = () => Number(process.hrtime.bigint());

/** A `/proc/stat` of so many stolen ticks, never half written. */
function write(path, ticks) {
  writeFileSync(
    `${path}.new`,
    `cpu  10 20 30 40 50 60 70 ${ticks} 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n`,
  );
  renameSync(`${path}.new`, path);
}

test('stolen time is counted in ticks of a hundredth', (t) => {
  const path = join(makeFolder(t), 'stat');
  write(path, 80);
  assert.equal(readStealNs(path), 80 * TICK_NS);
  writeFileSync(path, 'cpu  10 20 30\n');
  assert.equal(readStealNs(path), null, 'a kernel that does not tell');
  assert.equal(readStealNs(join(path, 'none')), null);
});

test('it is told when it grew, and by how much', async (t) => {
  const path = join(makeFolder(t), 'stat');
  write(path, 5);
  const watch = new StolenWatch(path);
  await sleep(200);
  const grows = [];
  for (const ticks of [6, 9]) {
    const fromNs = nowNs();
    write(path, ticks);
    grows.push([fromNs, nowNs()]);
    await sleep(300);
  }
  watch.stop();
  assert.equal(watch.totalNs, 4 * TICK_NS);
  assert.deepEqual(
    watch.intervals.map(({ takenNs }) => takenNs),
    [TICK_NS, 3 * TICK_NS],
  );
  watch.intervals.forEach(({ fromNs, untilNs }, index) => {
    const [beganNs, endedNs] = grows[index];
    assert.ok(fromNs <= endedNs && untilNs >= beganNs, `${index}: it grew between the looks`);
    assert.ok(untilNs - fromNs < 290e6, `${index}: looks are ${untilNs - fromNs} ns apart`);
  });
});

test('what grows from look to look is one interval', async (t) => {
  const path = join(makeFolder(t), 'stat');
  write(path, 0);
  const watch = new StolenWatch(path);
  const grow = setInterval(() => write(path, Math.floor(performance.now())), 1);
  t.after(() => clearInterval(grow));
  await sleep(400);
  watch.stop();
  assert.equal(watch.intervals.length, 1);
  assert.equal(watch.intervals[0].takenNs, watch.totalNs);
});

test('where the kernel does not tell nothing is told', (t) => {
  const watch = new StolenWatch(join(makeFolder(t), 'none'));
  watch.stop();
  assert.deepEqual([watch.totalNs, watch.intervals], [null, []]);
});
