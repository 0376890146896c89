/** The page of a service with a route for each request: small, usable, honest about the rest. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { builtExample } from '../../../workloads/harness/built-example.mjs';
import { assertAccessible, browserBeside, textsOf } from './browser.mjs';
import { pageOf, recordingHome } from './shop.mjs';

const require = createRequire(import.meta.url);
const sentences = require('../../bobtail/dist/cli/report/sentences.js');

const ROUTES = 100_000;
/** Told apart in the page, with one for all others. */
const SHOWN = 201;
const BYTES_MAX = 2 ** 20;
const ELEMENTS_MAX = 2000;

const home = recordingHome();
const browser = browserBeside(home);
let file;
let report;

before(async () => {
  const folder = join(home.folder, 'routes');
  execFileSync(builtExample('many_routes'), [String(ROUTES), folder]);
  ({ file, report } = await pageOf(folder));
});

test('a hundred thousand routes are a small page with the slowest by name', async (t) => {
  const bytes = statSync(file).size;
  const page = await browser.open(t, file);
  const elements = await page.evaluate(() => document.querySelectorAll('*').length);
  t.diagnostic(`${bytes} bytes, ${elements} elements`);
  assert.ok(bytes < BYTES_MAX, `${bytes} bytes`);
  assert.ok(elements < ELEMENTS_MAX, `${elements} elements`);
  const names = await page.locator('.filters select').first().locator('option').allInnerTexts();
  assert.equal(names.length, SHOWN + 1);
  assert.ok(names.includes('(other)'), names.slice(0, 3).join());
  const beyond = report.findings.find(({ code }) => code === 'unnamed-routes');
  const told = await page.locator('.advice').innerText();
  assert.ok(told.includes(beyond.action), told);
  await assertAccessible(page);
});

test('a chosen route has advice of its own, and that for the others below it', async (t) => {
  const page = await browser.open(t, file);
  const all = sentences.advice(report).map(({ action }) => action);
  assert.deepEqual(await textsOf(page, '.advice li b'), all);
  assert.equal(await page.locator('.advice.others').count(), 0);
  const isNamed = ({ route }) => route !== '*' && route !== '(other)';
  const name = report.breakdown.find((row) => row.class === 'tail' && isNamed(row)).route;
  await page.locator('.filters select').first().selectOption({ label: name });
  await page.waitForURL(/#route=/);
  const heads = await textsOf(page, 'section[aria-labelledby=advice] h3');
  assert.deepEqual(heads, [`For ${name}`, 'For other routes, and for the recording as a whole']);
  const own = await textsOf(page, '.advice:not(.others) li b');
  const others = await textsOf(page, '.advice.others li b');
  assert.ok(own.length > 0, 'its own time is on the loop');
  assert.deepEqual([...new Set([...own, ...others])].sort(), [...new Set([...own, ...all])].sort());
  assert.ok(
    others.every((action) => !own.includes(action)),
    others.join(),
  );
  await assertAccessible(page);
});
