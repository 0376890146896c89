/**
 * What V8 makes the probe say in the middle of JavaScript (collections, locations) never damages
 * a record that JavaScript has begun.
 *
 * Collections come where JavaScript allocates and locations where functions begin, so also inside
 * the encoder: more often where nothing is compiled, since numbers are objects there.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { get, nodes, requests, serve, traces } from './nodes.mjs';

const REQUESTS = 100;
/** On a contended machine the thread is switched more often in one turn than the kernel notes. */
const SWITCHES_LOST = 9;
const SMALL_HEAP = '--max-semi-space-size=1';
const FLAGS = [
  ['compiled', [SMALL_HEAP]],
  ['interpreted', [SMALL_HEAP, '--no-opt', '--no-sparkplug', '--max-lazy']],
];

for (const node of nodes) {
  const version = execFileSync(node, ['-v'], { encoding: 'utf8' }).trim();
  for (const [name, flags] of FLAGS) {
    test(`interjections damage no record, ${name} (${version})`, async () => {
      const { folder, stderr } = await serve(
        node,
        'long-turns.cjs',
        async (port) => {
          for (let sent = 0; sent < REQUESTS; sent++) await get(port, `/${sent}`);
        },
        { flags, env: { BOBTAIL_MAX_BYTES: '1000000000' } },
      );
      assert.equal(stderr, '');
      const [trace, ...more] = traces(folder);
      assert.equal(more.length, 0);
      const all = requests(trace).filter((one) => one.name !== 'GET /quit');
      assert.equal(all.length, REQUESTS);
      for (const { request, status, sink } of all) assert.ok(sink && status === 200, `${request}`);

      const of = (type) => trace.records.filter((record) => record.type === type);
      assert.deepEqual(
        of('loss').filter(({ kind }) => kind !== SWITCHES_LOST),
        [],
      );
      assert.ok(of('gc').length >= REQUESTS, `${of('gc').length} collections`);
      assert.ok(of('location').length >= REQUESTS, `${of('location').length} locations`);
      for (const { text } of of('location'))
        assert.ok(text !== '' && !text.includes('/dist/agent/'), text);
      checkMicros(trace);
    });
  }
}

/** Every event has its number and is later than what caused it; none is missing at the end. */
function checkMicros({ live, records }) {
  let last = 0;
  for (const { type, event, kind, registrar } of records) {
    if (type !== 'micro' && type !== 'loop-begin') continue;
    assert.equal(event, last + 1);
    last = event;
    if (type === 'micro') assert.ok(kind && registrar >= 0 && registrar < event, `${event}`);
  }
  assert.equal(last, live[2]);
}
