// The load of experiments: what it sends, and when it is enough.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { Connections, openLoop, requestBytes } from './open-loop.mjs';

/** A server that answers after `delayMs`, and the load's connections to it. */
async function served(t, delayMs = 0) {
  const server = createServer((_request, response) => {
    setTimeout(() => response.writeHead(200, { 'content-length': 2 }).end('ok'), delayMs);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const connections = await Connections.open(server.address().port, 8);
  t.after(() => {
    connections.close();
    server.close();
  });
  return connections;
}

const requests = [requestBytes('/')];
const load = { requests, ratePerS: 200, durationMs: 500, random: () => 0.5 };

test('everything that is due is sent, answered and timed', async (t) => {
  const { latenciesMs, dueMs, failed, unanswered } = await openLoop(await served(t), load);
  // A gap is ln 2 of the mean one.
  assert.equal(latenciesMs.length, Math.floor(500 / (Math.LN2 * 5)));
  assert.deepEqual([dueMs.length, failed, unanswered], [latenciesMs.length, 0, 0]);
});

test('it ends when it is enough, with the answers to all that was sent', async (t) => {
  const beganMs = performance.now();
  const isEnough = () => performance.now() - beganMs > 500;
  const connections = await served(t, 50);
  const told = await openLoop(connections, { ...load, durationMs: 60_000, isEnough });
  assert.ok(told.latenciesMs.length > 0 && told.latenciesMs.every((ms) => ms >= 45));
  assert.deepEqual([told.failed, told.unanswered], [0, 0]);
  assert.ok(performance.now() - beganMs < 30_000);
});

test('it tells when it was late itself, and by how much', async (t) => {
  const connections = await served(t);
  let fromMs;
  setTimeout(() => {
    fromMs = performance.now();
    while (performance.now() < fromMs + 60);
  }, 100);
  const { stalls } = await openLoop(connections, load);
  const longest = stalls.toSorted((a, b) => b.lateMs - a.lateMs)[0];
  // It was to come up to a gap between two requests after that began.
  assert.ok(longest?.lateMs > 50, JSON.stringify(stalls));
  assert.ok(longest.fromMs > fromMs - 5 && longest.fromMs < fromMs + 10, JSON.stringify(stalls));
});

test('it tells while somebody waits for long, and only then', async (t) => {
  const told = { none: [], some: [] };
  const onOverdue = (which) => (ms) => told[which].push(ms);
  const connections = await served(t, 150);
  for (const [which, overdueMs] of Object.entries({ none: 60_000, some: 100 })) {
    await openLoop(connections, { ...load, overdueMs, onOverdue: onOverdue(which) });
  }
  assert.deepEqual(told.none, []);
  // From 100 ms on, each 20 ms, until the load has sent all.
  assert.ok(told.some.length > 5 && told.some.length <= 20, JSON.stringify(told));
  assert.ok(
    told.some.every((ms) => ms > 100),
    JSON.stringify(told),
  );
});

test('a load that makes no sense is refused', async (t) => {
  const connections = await served(t);
  for (const wrong of [{ ratePerS: undefined }, { ratePerS: 0 }, { durationMs: Number.NaN }]) {
    assert.throws(() => openLoop(connections, { ...load, ...wrong }), /RangeError/);
  }
});
