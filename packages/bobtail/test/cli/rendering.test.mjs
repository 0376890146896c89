/**
 * What the answers look like, from fixtures that are valid by the schemas.
 *
 * After a wanted change of the output:
 * `UPDATE_SNAPSHOTS=1 node --test test/cli/rendering.test.mjs`.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { PACKAGE } from './run-bobtail.mjs';
import { assertValid } from './schemas.mjs';
import { assertSnapshot } from './snapshots.mjs';

const load = createRequire(import.meta.url);
const dist = (path) => load(join(PACKAGE, 'dist/cli', path));
const { renderReport } = dist('report/render-terminal.js');
const { renderMarkdown } = dist('report/render-markdown.js');
const { renderExplanation } = dist('explain/render-explanation.js');
const { createColors } = load('picocolors');

const colors = createColors(false);
const width = 120;
const fixture = (name) =>
  JSON.parse(readFileSync(join(PACKAGE, 'test/cli/fixtures', `${name}.json`), 'utf8'));

test('a report for the terminal', () => {
  const report = fixture('report');
  assertValid('report', report);
  const text = renderReport(report, 'recording.bobtail', { colors, width });
  assertSnapshot('report.txt', text);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the route of the fixture has one
  assert.doesNotMatch(text, /\x1b/);
});

test('a report for a pull request', () => {
  assertSnapshot('report-markdown.txt', renderMarkdown(fixture('report')));
});

test('a narrow terminal keeps the columns and shortens the names', () => {
  const text = renderReport(fixture('report'), 'r', { colors, width: 72 });
  assertSnapshot('report-narrow.txt', text);
});

test('a report of a few requests says so', () => {
  const report = fixture('report');
  const few = {
    ...report,
    requests: { ...report.requests, count: 7, percentilesNs: {}, confidenceNs: {}, inferred: 0 },
    tail: { ...report.tail, note: 'p99.9 needs 10,000 requests; this is the slowest of 7' },
    breakdown: report.breakdown.slice(0, 1),
    io: [],
    pauses: [],
    culprits: [],
    findings: [],
    losses: {},
    unavailable: [],
  };
  assertValid('report', few);
  assertSnapshot('report-few.txt', renderReport(few, 'r', { colors, width }));
});

test('one request, segment by segment', () => {
  const explanation = fixture('explain');
  assertValid('explain', explanation);
  const sumNs = explanation.segments.reduce((sum, one) => sum + one.durationNs, 0);
  assert.equal(sumNs, explanation.latencyNs, 'the fixture tiles its latency');
  for (const { kind, durationNs, work } of explanation.segments) {
    const parts = Object.values(work).reduce((sum, partNs) => sum + partNs, 0);
    assert.equal(parts, kind === 'queue' || kind === 'exec' ? durationNs : 0);
  }
  assertSnapshot('explain.txt', renderExplanation(explanation, { colors, width, events: true }));
});

test('marks have a legend only where there are any', () => {
  const explanation = fixture('explain');
  const observed = explanation.segments.map((one) => ({ ...one, exact: true, inferred: false }));
  const bare = renderExplanation(
    { ...explanation, segments: observed },
    { colors, width, events: false },
  );
  assert.doesNotMatch(bare, /~/);
});

test('what is accounted for is of what was recorded, where records were lost', () => {
  const report = fixture('report');
  const lastOf = (one) => renderReport(one, 'r', { colors, width }).trimEnd().split('\n').pop();
  assert.match(lastOf(report), /^accounted for 98\.9 % of the tail's recorded time · /);
  assert.match(lastOf({ ...report, losses: {} }), /^accounted for 98\.9 % of the tail's time · /);
});

test('paths below the working folder are shown from there', () => {
  const { nearPaths } = dist('text/paths.js');
  for (const [text, expected] of [
    ['/srv/app/src/a.js:1', 'src/a.js:1'],
    ['read file:///srv/app/src/a.js:1', 'read src/a.js:1'],
    ['split f /srv/app/a.js:1 (GET /) of (/srv/app/b.js)', 'split f a.js:1 (GET /) of (b.js)'],
    ['fs.open /mnt/srv/app/a.js', 'fs.open /mnt/srv/app/a.js'],
    ['fs.open /srv/application/a.js', 'fs.open /srv/application/a.js'],
  ]) {
    assert.equal(nearPaths(text, '/srv/app'), expected);
    assert.equal(nearPaths(text, '/'), text);
  }
});

test('what is not measured, and a recording that goes on, are told', () => {
  const report = fixture('report');
  const going = {
    ...report,
    run: { ...report.run, outcome: null },
    unavailable: [
      { mechanism: 'pool', reason: 'no symbols' },
      { mechanism: 'v8.jit', reason: 'in 1 of 2 processes: no table found' },
    ],
    breakdown: report.breakdown.map((row) => {
      const { nativeNs, jitNs } = row.work;
      return { ...row, work: { ...row.work, jitNs: null, nativeNs: nativeNs + jitNs } };
    }),
  };
  assertValid('report', going);
  const lines = renderReport(going, 'r', { colors, width }).trimEnd().split('\n');
  assert.match(lines[2], /^still being recorded, or the recorder was killed: /);
  assert.match(renderMarkdown(going), /^still being recorded, or the recorder was killed: /m);
  assert.match(lines.at(-1), / · unavailable here: pool, v8\.jit {2}r$/);
  assert.match(
    lines.find((line) => line.startsWith('  jit')),
    /compilation {2,}– {2,}– {2,}– {2,}–$/,
  );
  assert.match(renderMarkdown(going), /\| jit: compilation \| – \| – \| – \| – \|/);
});

test('an option that was not given is no fault of the host', () => {
  const report = fixture('report');
  const without = (reason) => ({
    ...report,
    unavailable: [{ mechanism: 'time not running', reason }],
    breakdown: report.breakdown.map((row) => ({
      ...row,
      work: { ...row.work, notRunningNs: null },
    })),
  });
  const texts = (one) => [renderReport(one, 'r', { colors, width }), renderMarkdown(one)];
  const row = /not running: descheduled, throttled/;
  for (const [reason, told, shown] of [
    ['not asked for: record --not-running', false, false],
    ['in 1 of 2 processes: not asked for: record --not-running', false, true],
    ['no permission', true, true],
  ]) {
    assertValid('report', without(reason));
    for (const text of texts(without(reason))) {
      assert.equal(text.includes('unavailable here: time not running'), told, reason);
      assert.equal(row.test(text), shown, reason);
    }
  }
});

test('processes are compared only where there are several', () => {
  const report = fixture('report');
  const [first] = report.processes;
  const one = { ...report, pauses: [], processes: [first] };
  for (const render of [(of) => renderReport(of, 'r', { colors, width }), renderMarkdown]) {
    assert.match(render(report), /4121-0.*75 %[\s\S]*4122-0.*25 %/);
    assert.doesNotMatch(render(one), /4121-0/);
  }
  for (const render of [(of) => renderReport(of, 'r', { colors, width }), renderMarkdown]) {
    const parts = /6\.0 %[ |]+2\.1 %[ |]+49\.3 %[ |]+–[ |]+32\.9 %[ |]+9\.6 %/;
    assert.match(render(report), parts);
    assert.doesNotMatch(render({ ...report, cluster: null }), parts);
  }
  const idle = { ...first, pid: 4130, class: 'nontail', count: 2 };
  const text = renderReport({ ...report, processes: [first, idle] }, 'r', { colors, width });
  assert.match(text, /4130-0 {2,}2 {2,}0 % {2,}–/);
});

test('colour is added, text stays', () => {
  const painted = renderReport(fixture('report'), 'r', { colors: createColors(true), width });
  const bare = renderReport(fixture('report'), 'r', { colors, width });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colour codes begin with ESC
  assert.equal(painted.replace(/\x1b\[[0-9;]*m/g, ''), bare);
  assert.notEqual(painted, bare);
});
