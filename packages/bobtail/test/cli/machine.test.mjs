/** What the recorder counts outside the service: stolen time, and quotas that were used up. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ThrottlingWatch } from '../../dist/cgroup/throttling.js';
import { readStealNs, stolenSince, writeThrottling } from '../../dist/cli/record/machine.js';
import { makeFolder } from './run-bobtail.mjs';

test('stolen time is counted in ticks of a hundredth', (t) => {
  const path = join(makeFolder(t), 'stat');
  writeFileSync(path, 'cpu  10 20 30 40 50 60 70 80 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n');
  assert.equal(readStealNs(path), 800_000_000);
  assert.equal(stolenSince(300_000_000, path), 500_000_000);
  assert.equal(stolenSince(null, path), null);
  writeFileSync(path, 'cpu  10 20 30\n');
  assert.equal(readStealNs(path), null, 'a kernel that does not tell');
  assert.equal(readStealNs(join(path, 'none')), null);
});

test('the process file gets what its group was throttled since it started', (t) => {
  const folder = makeFolder(t);
  const file = join(folder, 'cpu.stat');
  const process = { pid: 7, thread: 1, node: 'v24.0.0', mechanisms: [], throttled: null };
  const path = join(folder, 'process-7-1.json');
  const throttled = () => JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(file, 'nr_periods 9\nnr_throttled 5\nthrottled_usec 4000\n');
  const cpuStat = [{ file, periods: 2, throttledNs: 1_000_000 }];
  writeFileSync(path, JSON.stringify({ ...process, cpuStat }));
  writeThrottling(folder, new ThrottlingWatch());
  const expected = { ...process, cpuStat, throttled: { periods: 3, throttledNs: 3_000_000 } };
  assert.deepEqual(throttled(), expected);
  writeFileSync(path, JSON.stringify(process));
  writeThrottling(folder, new ThrottlingWatch());
  assert.equal(throttled().throttled, null);
});
