/** Whose timers run: those of the application, again and again, and those made inside Node. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { get, nodes, requests, serve, traces } from './nodes.mjs';

for (const node of nodes) {
  const version = execFileSync(node, ['-v'], { encoding: 'utf8' }).trim();

  /** A recorded run of the app, and the events in which a named timer was registered. */
  const recorded = async (...paths) => {
    const end = await serve(node, 'timers.cjs', async (port) => {
      for (const path of paths) await get(port, path);
    });
    assert.equal(end.stderr, '');
    const [trace] = traces(end.folder);
    const opened = new Map();
    for (const r of trace.records) {
      if (r.type === 'loop-begin' || r.type === 'micro') opened.set(r.event, r);
    }
    const owners = (delay) =>
      trace.records
        .filter(({ type, text }) => type === 'register' && text === `timer ${delay}ms`)
        .map(({ owner }) => opened.get(owner));
    return { trace, owners };
  };

  test(`an interval is registered once, and fires with its operation (${version})`, async () => {
    const { trace, owners } = await recorded('/interval', '/periods');
    const [{ source }] = requests(trace);
    const runs = owners(7000);
    assert.ok(runs.length >= 5, `${runs.length} runs`);
    for (const run of runs) assert.equal(run.kind, 'timer');
    assert.deepEqual(new Set(runs.map(({ op }) => op)).size, 1);
    const registered = trace.records.filter((r) => r.type === 'register' && r.op === runs[0].op);
    assert.deepEqual(
      registered.map(({ owner }) => owner),
      [source.owner],
    );
    assert.equal(new Set(runs.map(({ event }) => event)).size, runs.length);
  });

  test(`timers made inside Node run in events of nobody (${version})`, async () => {
    const { trace, owners } = await recorded('/strange');
    for (const delay of [7010, 7011, 7012, 7013, 7014, 7015]) {
      const [event, ...more] = owners(delay);
      assert.deepEqual(more, []);
      assert.equal(event?.kind, 'timers', `${delay}: ${JSON.stringify(event)}`);
      assert.equal(event.op, 0);
      assert.ok(event.readyNs <= event.beginNs);
    }
    for (const delay of [8010, 8011]) assert.equal(owners(delay)[0].kind, 'timer');
    const all = [7010, 7011, 7012, 7013, 7014, 7015, 8010, 8011].flatMap(owners);
    assert.equal(new Set(all.map(({ event }) => event)).size, all.length);
    assert.equal(requests(trace)[0].status, 200);
  });
}
