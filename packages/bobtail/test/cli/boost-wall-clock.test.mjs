/**
 * A wall clock that is stepped twenty times a second, ahead or back, under the command, the service
 * and its bobtaild: levers come back, nobody is taken for dead, and what is told makes sense.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { leaveOut } from '../../../../workloads/harness/leave-out.mjs';
import { compiled } from '../compiled.mjs';
import { BASE, makeTree, PEAK, startBoosted, until } from './boosted.mjs';
import { load } from './load.mjs';
import { fixture } from './recordings.mjs';
import { makeFolder } from './run-bobtail.mjs';

const HOUR_S = 3600;
const A_LITTLE_S = 10;
const SOURCE = readFileSync(fixture('stepping-clock.c'), 'utf8');
/** The service says by how much its own wall clock and its monotonic one came apart. */
const SERVICE = `
  const begun = Date.now() - performance.now();
  const offset = () => Math.round((Date.now() - performance.now() - begun) / 1000);
  const server = require('node:http').createServer((_, response) => {
    const kept = Array.from({ length: 60_000 }, (_, i) => ({ i, text: 'x' + i }));
    response.end(String(kept.length > 0 && offset()));
  });
  process.on('SIGTERM', () => process.exit(6));
  server.listen(0, '127.0.0.1', () => {
    process.stdout.write('listening ' + server.address().port + '\\n');
  });
`;

/** A service on the clock, boosted on a tree of files or as the arguments say. */
async function startOnClock(t, stepS, args) {
  const library = compiled(t, SOURCE, '-O1');
  const env = { LD_PRELOAD: library, STEP_S: String(stepS) };
  const run = await startBoosted(t, { args, env, script: ['-e', SERVICE] });
  for (const pid of [run.child.pid, run.pids[0], run.keeper]) {
    assert.ok(readFileSync(`/proc/${pid}/maps`, 'utf8').includes(library), `${pid} has the clock`);
  }
  await until('its clock is stepped', async () => {
    const response = await fetch(`http://127.0.0.1:${run.port}/`);
    const steps = Number(await response.text()) / stepS;
    assert.ok(Math.abs(steps - Math.round(steps)) * Math.abs(stepS) < 2, `${steps} steps`);
    return steps >= 1;
  });
  return run;
}

const onTree = ({ root }, policy) => {
  return ['--actuator', 'cpufreq', '--lever-root', root, '--policy', policy];
};

const DIRECTIONS = [
  ['ahead', HOUR_S],
  ['back', -HOUR_S],
];

// Of hours, the machine has not run for many: a moment that was put before its start is none.
for (const [direction, stepS] of [...DIRECTIONS, ['a little ahead', A_LITTLE_S]]) {
  test(`${direction}: collections and requests are as long as they are told`, async (t) => {
    const tree = makeTree(makeFolder(t), [[0, 1]]);
    const run = await startOnClock(t, stepS, onTree(tree, 'gc-boost:worth=0,hold=1ms'));
    const startMs = performance.now();
    assert.equal(await load(run.port, { count: 40 }), 40);
    await until('it is back', () => tree.khz() === BASE);
    run.child.kill('SIGTERM');
    const { code, stderr } = await run.ended;
    assert.equal(code, 6, stderr);
    const ranNs = (performance.now() - startMs) * 1e6;
    const { counters, refused, requests } = run.summary();
    assert.ok(counters.boosts >= 1, JSON.stringify(counters));
    assert.deepEqual([refused, counters.refused], [null, 0]);
    assert.ok(counters.boostedNs > 0 && counters.boostedNs < ranNs, JSON.stringify(counters));
    assert.ok(requests.longestNs < ranNs, JSON.stringify(requests));
    assert.equal(tree.khz(), BASE);
  });
}

for (const [direction, stepS] of DIRECTIONS) {
  test(`${direction}: a boost outlives steps, and ends with a killed service`, async (t) => {
    const tree = makeTree(makeFolder(t), [[0, 1]]);
    const run = await startOnClock(t, stepS, onTree(tree, 'static:peak'));
    await until('it is raised', () => tree.khz() === PEAK);
    // Twenty steps and a few heartbeats: who goes by the wall clock calls the service dead.
    for (let look = 0; look < 10; look += 1) {
      await sleep(100);
      assert.equal(tree.khz(), PEAK);
    }
    process.kill(run.pids[0], 'SIGKILL');
    await run.ended;
    await until('it is back', () => tree.khz() === BASE);
  });

  test(`${direction}: the imitated speed is given up in time`, async (t) => {
    if (process.getuid() !== 0) return leaveOut(t, 'needs root');
    const args = ['--actuator', 'emulated', '--policy', 'gc-boost:worth=0,hold=1ms'];
    const run = await startOnClock(t, stepS, args);
    assert.equal(await load(run.port, { count: 40 }), 40);
    run.child.kill('SIGTERM');
    const { code, stderr } = await run.ended;
    assert.equal(code, 6, stderr);
    const { counters, refused } = run.summary();
    assert.ok(counters.boosts >= 1, JSON.stringify(counters));
    assert.equal(refused, null);
  });

  test(`${direction}: a receiver is told of no series that begins after its end`, async (t) => {
    const points = [];
    const server = createServer(async (request, response) => {
      const chunks = await request.toArray();
      const { resourceMetrics } = JSON.parse(Buffer.concat(chunks));
      for (const { sum, histogram } of resourceMetrics[0].scopeMetrics[0].metrics) {
        points.push(...((sum ?? histogram)?.dataPoints ?? []));
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const tree = makeTree(makeFolder(t), [[0, 1]]);
    const told = ['--otlp', `http://127.0.0.1:${server.address().port}`];
    const startMs = performance.now();
    const run = await startOnClock(t, stepS, [...told, ...onTree(tree, 'static:peak')]);
    await sleep(300);
    run.child.kill('SIGTERM');
    await run.ended;
    const ranMs = performance.now() - startMs;
    assert.ok(points.length > 0);
    for (const { startTimeUnixNano, timeUnixNano } of points) {
      const toldMs = (Number(timeUnixNano) - Number(startTimeUnixNano)) / 1e6;
      assert.ok(toldMs > 0 && toldMs < ranMs + 1000, `${toldMs} of ${ranMs} ms`);
    }
  });
}
