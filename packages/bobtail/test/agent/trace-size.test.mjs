/**
 * Trace files stay small: at most 24 bytes per event on disk, all records counted.
 *
 * The bare server is the worst case, since most of its events are loop events with a source, a
 * write and a sink; promises take about 3 bytes each.
 */

import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import { get, nodes, serve, traces } from './nodes.mjs';

const REQUESTS = 3_000;
const BYTES_PER_EVENT_MAX = 24;

for (const path of ['/', '/await']) {
  test(`bytes per event of GET ${path}`, async (t) => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
    const { folder } = await serve(nodes[0], 'plain.cjs', async (port) => {
      const connection = async () => {
        for (let i = 0; i < REQUESTS / 8; i++) await get(port, path, { agent });
      };
      await Promise.all(Array.from({ length: 8 }, connection));
    });
    agent.destroy();
    const [{ records, usedBytes }] = traces(folder);
    const events = records.filter(({ type }) => type === 'loop-begin' || type === 'micro').length;
    assert.ok(events > REQUESTS, `${events} events`);
    const perEvent = usedBytes / events;
    t.diagnostic(`${perEvent.toFixed(1)} bytes per event`);
    assert.ok(perEvent <= BYTES_PER_EVENT_MAX, `${perEvent.toFixed(1)} bytes per event`);
  });
}
