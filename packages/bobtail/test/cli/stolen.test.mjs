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

/** Looks by hand: a time before and after each growth bounds where it must be told. */
function watching(t, how = {}) {
  const path = join(makeFolder(t), 'stat');
  write(path, 5);
  // Whatever it grows by is notable, however long this machine stops in between.
  const watch = new StolenWatch({ path, cpus: 0, ...how });
  t.after(() => watch.stop());
  const grow = (ticks) => {
    watch.look();
    const beganNs = nowNs();
    write(path, ticks);
    watch.look();
    return [beganNs, nowNs()];
  };
  return { path, watch, grow };
}

test('it is told when it grew, and by how much', async (t) => {
  const { watch, grow } = watching(t);
  const grows = [];
  for (const ticks of [6, 9]) {
    grows.push(grow(ticks));
    await sleep(20);
    watch.look();
  }
  assert.equal(watch.totalNs, 4 * TICK_NS);
  assert.deepEqual(
    watch.intervals.map(({ takenNs }) => takenNs),
    [TICK_NS, 3 * TICK_NS],
  );
  watch.intervals.forEach(({ fromNs, untilNs }, index) => {
    const [beganNs, endedNs] = grows[index];
    assert.ok(fromNs <= beganNs && untilNs > beganNs && untilNs <= endedNs, String(index));
  });
});

test('it looks by itself', async (t) => {
  const { path, watch } = watching(t);
  write(path, 90);
  const endMs = performance.now() + 20_000;
  while (watch.intervals.length === 0 && performance.now() < endMs) await sleep(10);
  assert.equal(watch.intervals[0]?.takenNs, 85 * TICK_NS);
});

test('what grows from look to look is one interval', (t) => {
  const { path, watch } = watching(t);
  for (let ticks = 6; ticks < 20; ticks += 1) {
    write(path, ticks);
    watch.look();
  }
  assert.equal(watch.intervals.length, 1);
  assert.equal(watch.intervals[0].takenNs, 14 * TICK_NS);
});

test('a sum that falls begins anew, and a look that fails loses nothing', (t) => {
  const { path, watch, grow } = watching(t);
  grow(8);
  grow(2);
  grow(3);
  assert.equal(watch.totalNs, 4 * TICK_NS);
  const aside = `${path}.aside`;
  renameSync(path, aside);
  watch.look();
  renameSync(aside, path);
  write(path, 7);
  watch.look();
  assert.equal(watch.totalNs, 8 * TICK_NS);
  // From the last look that did not fail on, which was the end of an interval.
  assert.equal(watch.intervals.at(-1).takenNs, 5 * TICK_NS);
});

test('what many processors lose between two looks says nothing of one', async (t) => {
  const { watch, grow } = watching(t, { cpus: 1_000_000 });
  await sleep(20);
  grow(6);
  assert.deepEqual([watch.totalNs, watch.intervals], [TICK_NS, []]);
});

test('intervals are halved in number where there are too many', async (t) => {
  const { watch, grow } = watching(t, { intervalsMax: 4 });
  for (let ticks = 6; ticks < 16; ticks += 1) {
    grow(ticks);
    await sleep(2);
    watch.look();
  }
  const { intervals } = watch;
  assert.ok(intervals.length <= 4 && intervals.length > 1, JSON.stringify(intervals));
  assert.equal(
    intervals.reduce((sum, { takenNs }) => sum + takenNs, 0),
    10 * TICK_NS,
  );
  intervals.slice(1).forEach(({ fromNs }, index) => {
    assert.ok(fromNs >= intervals[index].untilNs);
  });
});

test('where the kernel does not tell nothing is told', (t) => {
  const watch = new StolenWatch({ path: join(makeFolder(t), 'none') });
  watch.stop();
  assert.deepEqual([watch.totalNs, watch.intervals], [null, []]);
});
