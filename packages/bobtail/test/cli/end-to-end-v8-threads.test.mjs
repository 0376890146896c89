/** V8's own threads on the one CPU of a service: recorded, and named by the report. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { load } from './load.mjs';
import { nodes } from './nodes.mjs';
import { fixture, reportOf, startRecording } from './recordings.mjs';

/** From this version on V8's threads have a name. */
const NAMED_SINCE = 24;
const SECONDS = 14;
const SECONDS_QUIET = 8;
/** Where nothing tells them apart, nothing comes of a longer one. */
const SECONDS_UNNAMED = 3;
const PLANTED = ['--no-wasm-lazy-compilation', '--no-wasm-dynamic-tiering'];
/** What V8's threads do of themselves. */
const IDLE = ['--no-opt', '--no-maglev', '--single-threaded-gc'];

/** Records the service on one CPU under load for so long; the process's facts and the report. */
async function recorded(t, node, seconds, flags, ...args) {
  const command = ['taskset', '-c', '0', node, ...flags, fixture('v8-threads.cjs'), ...args];
  const service = await startRecording(t, command, { flags: ['--warmup', '2s'] });
  const endMs = performance.now() + seconds * 1000;
  const isEnough = () => performance.now() > endMs;
  await load(service.port, { count: 1e6, connections: 1, isEnough });
  await sleep(100);
  const { stderr } = await service.end();
  const name = readdirSync(service.folder).find((one) => /^process-\d+-0\.json$/.test(one));
  assert.ok(name, stderr);
  const { v8Threads } = JSON.parse(readFileSync(join(service.folder, name), 'utf8'));
  const { findings } = await reportOf(service.folder);
  return { v8Threads, found: findings.find(({ code }) => code === 'v8-threads'), findings };
}

for (const { path, version } of nodes) {
  const isNamed = Number(/^v(\d+)/.exec(version)[1]) >= NAMED_SINCE;

  test(`${version}: requests that V8's threads delay on one CPU`, async (t) => {
    const seconds = isNamed ? SECONDS : SECONDS_UNNAMED;
    const { v8Threads, found, findings } = await recorded(t, path, seconds, PLANTED);
    if (!isNamed) {
      assert.equal(v8Threads, null, 'nothing tells them from the pool');
      assert.equal(found, undefined);
      return;
    }
    assert.equal(v8Threads.cpus, 1);
    assert.ok(v8Threads.ranNs > 2e8, `${v8Threads.ranNs} ns`);
    assert.match(found?.sentence ?? JSON.stringify(findings), /had the processors of the loop/);
    assert.match(found.action, /--v8-pool-size=1/);
  });

  if (!isNamed) continue;
  test(`${version}: nothing is told where they did nothing`, async (t) => {
    const { found } = await recorded(t, path, SECONDS_QUIET, IDLE, 'quiet');
    assert.equal(found, undefined);
  });
}
