/** Counts of throttled groups, read from made-up cgroup trees of both versions. */

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { readCounts } from '../../dist/agent/cgroup.js';
import { readThrottling, ThrottlingWatch } from '../../dist/cgroup/throttling.js';

/** Files by path, below a folder that is removed after the test. */
function tree(t, files) {
  const root = mkdtempSync(join(tmpdir(), 'bobtail-cgroup-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const write = (more) => {
    for (const [name, text] of Object.entries(more)) {
      mkdirSync(dirname(join(root, name)), { recursive: true });
      writeFileSync(join(root, name), text);
    }
  };
  write(files);
  return { root, write };
}

/** What `watch` tells after another look. */
function told(counts, watch = new ThrottlingWatch()) {
  watch.look(counts);
  return watch.longest(counts);
}

const v2 = (periods, us) =>
  `usage_usec 9\nnr_periods 50\nnr_throttled ${periods}\nthrottled_usec ${us}\nnr_bursts 0\n`;
const v1 = (periods, ns) => `nr_periods 50\nnr_throttled ${periods}\nthrottled_time ${ns}\n`;

test('version 2: the group and those above it count, the longest stop is told', (t) => {
  const { root, write } = tree(t, {
    'proc/cgroup': '0::/pod/service\n',
    'fs/cpu.stat': 'usage_usec 9\nuser_usec 5\n',
    'fs/pod/cpu.stat': v2(7, 1000),
    'fs/pod/service/cpu.stat': v2(0, 0),
  });
  const counts = readCounts(join(root, 'fs'), join(root, 'proc'));
  assert.deepEqual(counts, [
    { file: join(root, 'fs/pod/service/cpu.stat'), periods: 0, throttledNs: 0 },
    { file: join(root, 'fs/pod/cpu.stat'), periods: 7, throttledNs: 1_000_000 },
  ]);
  assert.deepEqual(told(counts), { periods: 0, throttledNs: 0 });
  write({ 'fs/pod/cpu.stat': v2(10, 61_000) });
  assert.deepEqual(told(counts), { periods: 3, throttledNs: 60_000_000 });
});

test('version 1: a container that sees its group at the root, and the path of the host', (t) => {
  const { root, write } = tree(t, {
    'proc/cgroup': '9:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n0::/docker/abc\n',
    'fs/cpu,cpuacct/cpu.stat': v1(2, 500),
  });
  const counts = readCounts(join(root, 'fs'), join(root, 'proc'));
  assert.deepEqual(counts, [
    { file: join(root, 'fs/cpu,cpuacct/cpu.stat'), periods: 2, throttledNs: 500 },
  ]);
  write({ 'fs/cpu,cpuacct/cpu.stat': v1(3, 90_000_500) });
  assert.deepEqual(told(counts), { periods: 1, throttledNs: 90_000_000 });
});

test('what is not there is unknown, not zero', (t) => {
  const { root, write } = tree(t, {
    'proc/cgroup': '0::/../outside\n',
    'fs/outside/cpu.stat': v2(1, 1),
    broken: 'nr_throttled\n',
  });
  assert.deepEqual(readCounts(join(root, 'fs'), join(root, 'none')), []);
  assert.equal(readThrottling(join(root, 'broken')), null);
  assert.equal(told([]), null);
  const counts = readCounts(join(root, 'fs'), join(root, 'proc'));
  assert.equal(counts.length, 1);
  rmSync(join(root, 'fs'), { recursive: true });
  assert.equal(told(counts), null);
  write({ 'fs/outside/cpu.stat': v2(0, 0) });
  assert.deepEqual(told(counts), { periods: 0, throttledNs: 0 }, 'a new group');
});

test('a group that is gone keeps what was read of it last', (t) => {
  const { root, write } = tree(t, {
    'proc/cgroup': '0::/scope\n',
    'fs/cpu.stat': v2(0, 0),
    'fs/scope/cpu.stat': v2(4, 10),
  });
  const counts = readCounts(join(root, 'fs'), join(root, 'proc'));
  assert.equal(counts.length, 2);
  const watch = new ThrottlingWatch();
  write({ 'fs/scope/cpu.stat': v2(6, 2010) });
  assert.deepEqual(told(counts, watch), { periods: 2, throttledNs: 2_000_000 });
  rmSync(join(root, 'fs/scope'), { recursive: true });
  assert.deepEqual(told(counts, watch), { periods: 2, throttledNs: 2_000_000 });
  assert.equal(told(counts), null, 'never read while it was there');
});
