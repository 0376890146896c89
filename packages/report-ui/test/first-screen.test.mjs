/** The first screen of the page of a real recording says what `report --json` says. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { before, test } from 'node:test';
import { browserBeside, textsOf } from './browser.mjs';
import { NODE, pageOf, recordingHome, recordService, SHOP } from './shop.mjs';

const require = createRequire(import.meta.url);
const { headline, percentilesLine } = require('../../bobtail/dist/cli/report/sentences.js');
const { workRows } = require('../../bobtail/dist/cli/report/work-tables.js');
const units = require('../../bobtail/dist/cli/text/units.js');

const home = recordingHome();
const browser = browserBeside(home);
let file;
let report;

before(async () => {
  const folder = await recordService(home, [NODE, SHOP]);
  ({ file, report } = await pageOf(folder));
});

test('the verdict and the percentiles are those of the report', async (t) => {
  const page = await browser.open(t, file);
  assert.deepEqual(await textsOf(page, 'h1'), [headline(report)]);
  assert.deepEqual(await textsOf(page, '.percentiles'), [percentilesLine(report)]);
  await page.getByText('Percentiles as a table').click();
  const rows = await textsOf(page, 'details[open] tbody tr');
  const expected = Object.entries(report.requests.percentilesNs)
    .sort(([a], [b]) => a - b)
    .map(([percentile, ns]) => {
      const ends = report.requests.confidenceNs[percentile].map(units.formatDuration);
      return `p${percentile} ${units.formatDuration(ns)} ${ends.join(' – ')}`;
    });
  assert.deepEqual(rows, expected);
});

test('tail against rest, over all and for each route, is the breakdown', async (t) => {
  const page = await browser.open(t, file);
  await page.locator('.composition').first().waitFor();
  const shown = await textsOf(page, '#made-of ~ div .composition tbody');
  const routes = ['*', ...new Set(report.breakdown.map(({ route }) => route))].filter(
    (route, index, all) => all.indexOf(route) === index,
  );
  assert.ok(routes.length >= 5, routes.join());
  for (const route of routes) {
    const text = shown.find((one) => one.startsWith(`${route === '*' ? 'all routes' : route} `));
    assert.ok(text, `${route} in ${shown.join('\n')}`);
    for (const row of report.breakdown.filter((one) => one.route === route)) {
      const name = row.class === 'tail' ? 'tail' : 'rest';
      const shares = [row.ioNs, row.queueNs, row.execNs].map((ns) =>
        units.formatShare(ns, row.latencyNs),
      );
      const line = [
        `${name} ${units.formatCount(row.count)}`,
        units.formatDuration(row.latencyNs),
        ...shares,
      ].join(' ');
      assert.ok(text.includes(line), `${line} in ${text}`);
    }
  }
});

test('the work of the loop is table 4', async (t) => {
  const page = await browser.open(t, file);
  const shown = await textsOf(page, '.work tbody tr');
  const rows = workRows(report);
  assert.equal(shown.length, rows.length);
  rows.forEach(([words, tailNs, tailShare, restNs, restShare], index) => {
    const name = words.replace(':', '');
    assert.equal(shown[index], `${name} ${tailShare} ${tailNs} ${restShare} ${restNs}`);
  });
});

test('the curve ends at the slowest request and marks the tail', async (t) => {
  const page = await browser.open(t, file);
  const label = await page.locator('svg[role=img] title').first().textContent();
  assert.ok(label.startsWith(`Latency of ${units.formatCount(report.requests.count)} requests: `));
  const path = await page.locator('path.line').getAttribute('d');
  assert.ok(path.split('L').length + path.split('H').length > 20, path);
  await page.locator('.tail-mark rect').waitFor();
});
