/** Recording in bursts: what lies between two of them is neither recorded nor disturbed. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { get, nodes, requests, serve, traces } from './nodes.mjs';

const EVERY_MS = 250;
const FOR_MS = 100;
const PERIODS = 6;
/** Kinds of MARK. */
const PAUSED = 3;
const RESUMED = 4;
const isMark = (record, kind) => record?.type === 'mark' && record.kind === kind;

for (const node of nodes) {
  const version = execFileSync(node, ['-v'], { encoding: 'utf8' }).trim();
  test(`records bursts and nothing between them (${version})`, async () => {
    const answers = [];
    let slow = [];
    const drive = async (port) => {
      const endMs = performance.now() + PERIODS * EVERY_MS;
      while (performance.now() < endMs) {
        slow.push(get(port, '/slow'));
        for (let n = 0; n < 5; n++) answers.push(await get(port, `/fast?${answers.length}`));
      }
      slow = await Promise.all(slow);
    };
    const env = { BOBTAIL_BURSTS: `${EVERY_MS}/${FOR_MS}` };
    const { code, stderr, folder } = await serve(node, 'steady.cjs', drive, { env });
    assert.equal(code, 0, stderr);
    assert.equal(stderr, '');
    const bodies = new Set([...answers, ...slow].map(({ status, body }) => `${status} ${body}`));
    assert.equal(bodies.size, 1, [...bodies].join());

    const [trace] = traces(folder);
    const marks = trace.records.filter((r) => isMark(r, PAUSED) || isMark(r, RESUMED));
    const kinds = marks.map((r) => r.kind);
    assert.ok(kinds.length >= 4, kinds.join());
    const turns = kinds.map((_, n) => (n % 2 ? RESUMED : PAUSED));
    assert.deepEqual(kinds, turns);
    // Nothing is written between the two marks.
    trace.records.forEach((record, index) => {
      if (!isMark(record, PAUSED)) return;
      const next = trace.records[index + 1];
      assert.ok(next === undefined || isMark(next, RESUMED), JSON.stringify(next));
    });
    // The event that pauses ends with it.
    const told = trace.records.filter(({ type }) => type !== 'not-running');
    const paused = told.findIndex((r) => isMark(r, PAUSED));
    assert.equal(told[paused - 1].type, 'loop-end');

    const all = requests(trace);
    const resumedNs = marks.find(({ kind }) => kind === RESUMED).atNs;
    const later = all.filter(({ source, sink }) => source.atNs > resumedNs && sink !== undefined);
    assert.ok(
      later.some(({ name }) => name.includes('/fast')),
      'requests of a later burst',
    );
    assert.ok(all.length < answers.length + slow.length, 'some came between bursts');
    // What runs in a later burst is followed as in the first one.
    const seen = new Set(
      trace.records
        .filter((r) => (r.atNs ?? r.beginNs ?? r.enterNs) > resumedNs)
        .map((r) => `${r.type} ${r.kind ?? ''}`),
    );
    for (const what of ['micro promise', 'micro tick', 'loop-begin timer', 'register pool']) {
      assert.ok(seen.has(what), `${what} in ${[...seen].join()}`);
    }
    for (const what of ['loop-begin immediate', 'loop-begin pool', 'loop-begin read', 'poll ']) {
      assert.ok(seen.has(what), `${what} in ${[...seen].join()}`);
    }
  });
}
