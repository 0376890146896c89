/** What the recorder counts of quotas that were used up. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ThrottlingWatch } from '../../dist/cgroup/throttling.js';
import { writeThrottling } from '../../dist/cli/record/throttled.js';
import { makeFolder } from './run-bobtail.mjs';

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
