/** Nodes without a symbol table: what cannot be found is told, and the rest is recorded. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { load } from './load.mjs';
import { nodes } from './nodes.mjs';
import { fixture, reportOf, startRecording } from './recordings.mjs';
import { makeFolder, runBobtail } from './run-bobtail.mjs';

const REQUESTS = 50;
/** What needs a function that the executable does not export. */
const BY_SYMBOL = [
  'thread pool',
  'steps of incremental marking',
  'compilation',
  'functions made of text',
];

/** The mechanisms that `doctor` says are missing of a Node, with the reasons. */
async function missingOf(node) {
  const { stdout } = await runBobtail(['doctor', '--json', '--', node]);
  const { mechanisms } = JSON.parse(stdout).nodes[0];
  return mechanisms.filter(({ ok }) => !ok);
}

for (const { path, version } of nodes) {
  test(`${version}, stripped: doctor and report say what is missing, and no more is`, async (t) => {
    const stripped = join(makeFolder(t), 'node');
    execFileSync('strip', ['-o', stripped, path]);
    const [whole, missing] = [await missingOf(path), await missingOf(stripped)];
    const named = new Set(whole.map(({ name }) => name));
    const lost = missing.filter(({ name }) => !named.has(name));
    assert.ok(lost.some(({ name }) => name === 'thread pool'));
    for (const { name, reason } of lost) {
      assert.ok(BY_SYMBOL.includes(name), `${name}: ${reason}`);
      assert.match(reason, /no symbol table \(stripped\)/);
    }
    const service = await startRecording(t, [stripped, fixture('service.mjs'), 'http']);
    assert.equal(await load(service.port, { count: REQUESTS }), REQUESTS);
    const { signal, stderr } = await service.end('SIGTERM');
    assert.equal(signal, 'SIGTERM', stderr);
    const { requests, losses, unavailable } = await reportOf(service.folder);
    assert.equal(requests.count, REQUESTS);
    assert.deepEqual(losses, {});
    const told = new Map(unavailable.map(({ mechanism, reason }) => [mechanism, reason]));
    for (const { name, reason } of lost) assert.equal(told.get(name), reason);
  });
}
