/** What a report says in words, where it says something else than a figure it has. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { PACKAGE } from './run-bobtail.mjs';

const require = createRequire(import.meta.url);
const sentences = require('../../dist/cli/report/sentences.js');
const report = JSON.parse(readFileSync(join(PACKAGE, 'test/cli/fixtures/report.json'), 'utf8'));

/** The report with other work in its tail, as shares of the latency. */
function withWork(shares) {
  const breakdown = report.breakdown.map((row) => {
    if (row.class !== 'tail' || row.route !== '*') return row;
    const named = Object.entries(shares).map(([name, share]) => [name, share * row.latencyNs]);
    return { ...row, work: { ...row.work, ...Object.fromEntries(named) } };
  });
  return { ...report, breakdown };
}

test('the headline tells what most of the latency was, unless it was the application', () => {
  const end = (shares) =>
    /queueing behind others(.*)$/.exec(sentences.headline(withWork(shares)))[1];
  assert.equal(end({ nativeNs: 0.9, gcNs: 0.1 }), '.');
  assert.equal(end({ gcNs: 0.49 }), '.');
  assert.equal(end({ gcNs: 0.5 }), '; for 50 % of it V8 collected garbage.');
  assert.equal(end({ notRunningNs: 0.71 }), '; for 71 % of it the loop thread got no processor.');
  assert.equal(end({ notRunningNs: null, jitNs: 0.6 }), '; for 60 % of it V8 compiled.');
});

test('a queue for a connection is one row, with the answers before it', () => {
  const row = (resource, kind, ioNs, sharedNs) => ({
    class: 'tail',
    resource,
    ownService: false,
    kind,
    requests: 3,
    ioNs,
    poolWaitNs: 0,
    poolRunNs: 0,
    sharedNs,
  });
  const rows = [
    row('a:80', 'read', 190, 160),
    row('a:80', 'agent', 10, 0),
    row('a:80', 'connect', 5, 0),
    row('b:80', 'read', 50, 40),
    row('c:80', 'agent', 7, 0),
    row('c:80', 'read', 9, 9),
  ];
  const told = sentences.withConnectionQueues(rows);
  assert.deepEqual(
    told.map(({ resource, kind, ioNs, sharedNs }) => [resource, kind, ioNs, sharedNs]),
    [
      ['a:80', 'agent', 170, 0],
      ['b:80', 'read', 50, 40],
      ['a:80', 'read', 30, 0],
      ['c:80', 'agent', 16, 0],
      ['a:80', 'connect', 5, 0],
    ],
  );
  const total = (list) => list.reduce((sum, { ioNs }) => sum + ioNs, 0);
  assert.equal(total(told), total(rows));
  assert.equal(sentences.ioParts(told[0]), 'until a connection to it was free');
});

test('that a percentile is not told is a note and no advice', () => {
  const few = { code: 'too-few-requests', sentence: 's', action: 'a', impactNs: 0 };
  const { findings } = report;
  assert.deepEqual(sentences.advice({ ...report, findings: [few, ...findings] }), findings);
});
