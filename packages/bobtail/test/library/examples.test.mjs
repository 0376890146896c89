/** The examples, run as the guide says, in every Node. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { nodes } from '../cli/nodes.mjs';
import { PACKAGE } from '../cli/run-bobtail.mjs';

const EXAMPLES = join(PACKAGE, '../../examples');

/** What the example says; rejects when it fails. */
async function run(node, name) {
  const { stdout, stderr } = await promisify(execFile)(node, [join(EXAMPLES, name)]);
  assert.equal(stderr, '');
  return stdout;
}

for (const { path, version } of nodes) {
  test(`express on Node ${version}: the slow route is the culprit`, async () => {
    const told = await run(path, 'express/why-slow.mjs');
    assert.match(told, /^400 requests, p50 [\d.]+ ms\np95 [\d.]+ ms\n/);
    // Which is first, and so what to do, is the machine's to say when it is busy with other things:
    // what is planted, `workloads/loop-hog` has.
    assert.match(told, /^ {2}[\d.]+ ms behind GET \/report\/:year$/m);
    assert.match(told, /^to do: \S/m);
    assert.match(told, /^slowest: GET .* [\d.]+ ms\n( {2}(queue|exec|io) [\d.]+ ms\n)+/m);
    assert.match(told, /^gate p50<10s: passed\ngate losses=0: passed\n$/m);
  });

  test(`fastify on Node ${version}: both recordings are compared by route`, async () => {
    const told = await run(path, 'fastify/before-after.cjs');
    // Percentiles are left out where the time was too short for one.
    for (const route of ['*', 'GET /users/:id', 'GET /report/:year']) {
      const [, verdict] = told.split(`${route} mean: `)[1].split(/: |\n/);
      assert.match(verdict, /^(more|less|within-noise|too-few)$/, told);
    }
  });
}
