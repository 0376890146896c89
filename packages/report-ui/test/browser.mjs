/**
 * A real Chromium on real report files: everything it complains about or asks the network for fails
 * the test.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after } from 'node:test';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { findChromium } from '../chromium.mjs';

const require = createRequire(import.meta.url);
const { measuredText, wantedText } = require('../../bobtail/dist/gates/outcome.js');
const {
  formatCount,
  formatDuration,
  formatShare,
} = require('../../bobtail/dist/cli/text/units.js');
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

export const WAIT_MS_MAX = 120_000;

/**
 * A browser for all tests of a file, started by the first that wants it; each page of `open` is
 * closed after its test. When all are done the browser ends, and after it what `home` holds.
 */
export function browserBeside(home) {
  let launching;
  const launched = () => {
    launching ??= chromium.launch({ executablePath: findChromium() });
    return launching;
  };
  after(async () => {
    await (await launching)?.close();
    await home.close();
  });
  return {
    open: async (test, file, options) => open(await launched(), test, file, options),
    newPage: async (options) => (await launched()).newPage(options),
  };
}

/**
 * Opens a report and waits until it is drawn. Options: `fragment`, `viewport`, `colorScheme`,
 * `media`. After the test it must not have complained or asked for anything.
 */
async function open(browser, test, file, options = {}) {
  const { fragment = '', viewport = { width: 1366, height: 900 }, ...context } = options;
  const page = await browser.newPage({ viewport, ...context });
  // A machine that is busy with other things is no fault of the page.
  page.setDefaultTimeout(WAIT_MS_MAX);
  const troubles = [];
  page.on('console', (message) => troubles.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => troubles.push(`uncaught: ${error}`));
  page.on('dialog', (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(pathToFileURL(file).href)) troubles.push(`asked for ${url}`);
  });
  page.troubles = troubles;
  test.after(async () => {
    await page.close();
    assert.deepEqual(troubles, []);
  });
  await page.goto(`${pathToFileURL(file).href}${fragment}`);
  await page.waitForSelector('h1');
  return page;
}

/** The rules that axe finds broken, with the elements; must be none. */
export async function assertAccessible(page) {
  // The policy of the page lets no other script in, so this comes as the debugger's.
  await page.evaluate(`${AXE}\n;undefined`);
  const { violations } = await page.evaluate(() =>
    globalThis.axe.run(document, {
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    }),
  );
  const element = ({ html, failureSummary }) => `  ${html}\n    ${failureSummary}`;
  const told = violations.map(
    ({ id, help, nodes }) => `${id}: ${help}\n${nodes.map(element).join('\n')}`,
  );
  assert.deepEqual(told, []);
}

/** Text of all elements that match, blanks made one. */
export async function textsOf(page, selector) {
  const texts = await page.locator(selector).allInnerTexts();
  return texts.map((text) => text.replace(/\s+/g, ' ').trim());
}

/** The rows of the table of gates must be those of the answer, missed ones named as such. */
export async function assertGates(page, gates) {
  const rows = await textsOf(page, '.gates tbody tr');
  const signs = { passed: '✓', missed: '✗', undecided: '?' };
  const expected = gates.map((one) =>
    [
      `${signs[one.outcome]} ${one.outcome}`,
      one.name,
      wantedText(one),
      measuredText(one),
      one.reason ?? '',
    ]
      .join(' ')
      .trim(),
  );
  assert.deepEqual(rows, expected);
  const [title] = await textsOf(page, '#gates');
  for (const outcome of Object.keys(signs)) {
    const count = gates.filter((one) => one.outcome === outcome).length;
    assert.equal(title.includes(`${count} ${outcome}`), count > 0, title);
  }
}

/**
 * The first two lines of a table of what tail and rest are made of must be these rows of the
 * report, of at most one a class, to the digit.
 */
export async function assertComposition(page, section, rows) {
  const table = page.locator(`${section} ~ div .composition`);
  const kinds = (await table.locator('thead th.number').allInnerTexts()).map((kind) => kind.trim());
  assert.deepEqual(kinds.slice(0, 3), ['io', 'queue', 'exec']);
  const expected = [
    ['tail', 'tail'],
    ['rest', 'nontail'],
  ].map(([name, cls]) => {
    const row = rows.find((one) => one.class === cls);
    if (row === undefined) return `${name} 0 none`;
    const shares = kinds.map((kind) => formatShare(row[`${kind}Ns`], row.latencyNs));
    const { count, latencyNs } = row;
    return [name, formatCount(count), formatDuration(latencyNs), ...shares].join(' ');
  });
  assert.ok(rows.length > 0 && rows.length <= 2, `${rows.length} rows`);
  const lines = await table.locator('tbody').first().locator('tr').all();
  const shown = lines.map(async (line) => {
    const cells = await line.locator('th.class, td').allInnerTexts();
    return cells.join(' ').replace(/\s+/g, ' ').trim();
  });
  assert.deepEqual(await Promise.all(shown), expected);
}
