/** The page of a difference of two real recordings says what `diff --json` says. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { assertBeyondAddsUp } from '../../bobtail/test/cli/beyond-sums.mjs';
import { makeFolder, runBobtail } from '../../bobtail/test/cli/run-bobtail.mjs';
import { assertValid } from '../../bobtail/test/cli/schemas.mjs';
import { assertAccessible, assertGates, browserBeside, textsOf } from './browser.mjs';
import { gatedPageOf, NODE, recordingHome, recordService, SHOP } from './shop.mjs';

const require = createRequire(import.meta.url);
const sentences = require('../../bobtail/dist/cli/diff/sentences.js');
const units = require('../../bobtail/dist/cli/text/units.js');

// The shorter recording has to be long against what the machine takes of a run at once: blocks in
// which nothing was answered tell nothing.
const BASE_MS = 5;
const PLANTED_MS = 20;
const GATES = ['route("GET /index").p50<+5ms', 'p50<+1000000%', 'p99.9<+10%'];
const HOSTILE = '/<script>alert(1)</script>"\'&lt;';
const PATHS = ['/index', '/', '/file', HOSTILE];

const home = recordingHome();
const browser = browserBeside(home);
let recordings;
let file;
let diff;

before(async () => {
  recordings = [];
  for (const ms of [BASE_MS, BASE_MS + PLANTED_MS]) {
    const cwd = makeFolder(home);
    const load = { cwd, count: 800, connections: 1, path: (n) => PATHS[n % PATHS.length] };
    recordings.push(await recordService(home, [NODE, SHOP, String(ms)], load));
  }
  file = join(home.folder, 'diff.html');
  const verb = ['diff', ...recordings, '--tail', '50'];
  ({ answer: diff } = await gatedPageOf(file, verb, GATES));
  assertValid('diff', diff);
});

const overall = () => sentences.overall(diff);
const routeNamed = (name) => diff.routes.find(({ route }) => route === name);
const at = (route, percentile) =>
  route.percentiles.find((one) => one.percentile === percentile) ?? assert.fail(route.route);

/** The text of the row of a change, without the name before it. */
function rowText(change, note) {
  const [a, b, delta, interval, noise, verdict] = sentences.changeCells(change);
  const sign = { more: '▲', less: '▼', 'within-noise': '≈', 'too-few': '–' }[change.verdict];
  if (change.deltaNs === null) {
    return `${a} ${b} ${sign} ${verdict}${note ? `: ${note}` : ''}`;
  }
  const told = [delta, interval, sign, verdict, noise === '' ? '' : `noise ${noise}`];
  return [a, b, ...told.filter((part) => part !== '')].join(' ');
}

const rowsOf = (page, section) =>
  textsOf(page, `section[aria-labelledby=${section}] .changes tbody tr`);

const latencyRows = ({ mean, percentiles }) => [
  `mean ${rowText(mean)}`,
  ...[...percentiles]
    .reverse()
    .map(({ percentile, latency, note }) => `p${percentile} ${rowText(latency, note)}`),
];

const causeRows = ({ beyond, causes }) => [
  `latency ${rowText(beyond)}`,
  ...causes
    .filter(({ aNs, bNs }) => aNs > 0 || bNs > 0)
    .map((one) => `${sentences.causeName(one.cause)} ${rowText(one)}`),
];

test('the verdict, the sides and every figure are those of diff --json', async (t) => {
  const page = await browser.open(t, file);
  assert.deepEqual(await textsOf(page, 'h1'), [sentences.headline(diff)]);
  const beyond = await textsOf(page, '.beyond');
  assert.deepEqual(assertBeyondAddsUp(diff, beyond.join('\n')), beyond);
  assert.deepEqual(beyond, sentences.beyondLines(diff));
  const sides = await textsOf(page, '.percentiles');
  const blank = (text) => text.replace(/\s+/g, ' ');
  const expected = ['A', 'B'].map((name, index) =>
    blank(sentences.sideLine(name, diff, recordings[index])),
  );
  assert.deepEqual(sides, expected);
  assert.deepEqual(await textsOf(page, '.note'), sentences.notes(diff));
  assert.deepEqual(await rowsOf(page, 'figures'), latencyRows(overall()));
  const shown = sentences.shownPercentile(overall());
  assert.deepEqual(await rowsOf(page, 'causes'), causeRows(shown));
  await page.getByRole('button', { name: 'also what did not move' }).click();
  const more = page.getByRole('button', { name: /^all \d+ rows$/ });
  if ((await more.count()) > 0) await more.click();
  const tail = await rowsOf(page, 'tail');
  const changes = sentences.tailChanges(diff);
  assert.equal(tail.length, changes.length);
  for (const { name, place, change } of changes) {
    const row = [name, place, rowText(change)].join(' ').replace(/\s+/g, ' ');
    // Paths are told as from where the command line ran.
    const text = row.replaceAll(`${process.cwd()}/`, '');
    assert.ok(tail.includes(text), `${text} in\n${tail.join('\n')}`);
  }
});

test('what was planted is on top, and where samples lack it is told why', async (t) => {
  const page = await browser.open(t, file);
  await page.locator('.filters select').nth(1).selectOption({ label: 'p50' });
  const index = routeNamed('GET /index');
  const { latency } = at(index, 50);
  assert.equal(latency.verdict, 'more', JSON.stringify(latency));
  const rows = await rowsOf(page, 'routes');
  const counts = `${units.formatCount(index.aCount)} → ${units.formatCount(index.bCount)}`;
  assert.equal(rows[0], `GET /index ${counts} ${rowText(latency)}`);
  assert.equal(rows.length, diff.routes.length - 1);
  const picture = page.locator('section[aria-labelledby=routes] tr.more .forest').first();
  const [zero, dot] = await Promise.all(
    ['.zero', '.dot'].map(async (part) => (await picture.locator(part).boundingBox()).x),
  );
  assert.ok(dot > zero, 'more lies to the right');
  await page.locator('.filters select').nth(1).selectOption({ label: 'p99.9' });
  await page.waitForURL(/at=99\.9/);
  const lacking = await rowsOf(page, 'routes');
  assert.ok(lacking.every((text) => text.includes('not enough samples: p99.9 needs 10,000')));
  const causes = await page.locator('section[aria-labelledby=causes]').innerText();
  assert.ok(causes.includes(`Not enough samples: ${at(overall(), 99.9).note}.`), causes);
});

test('both curves are drawn, of all requests and of a route', async (t) => {
  const page = await browser.open(t, file);
  const title = () => page.locator('svg[role=img] title').textContent();
  const words = ({ aCount, bCount }) =>
    `Latencies of A ${units.countOf(aCount, 'request')} and B ${units.countOf(bCount, 'request')}`;
  assert.equal(await title(), words(overall()));
  const paths = page.locator('.plot path.line');
  assert.equal(await paths.count(), 2);
  for (const d of await paths.evaluateAll((all) => all.map((one) => one.getAttribute('d')))) {
    assert.ok(d.split(/[LHV]/).length > 10, d);
  }
  const told = overall().percentiles.filter(({ latency }) => latency.verdict !== 'too-few');
  const labels = await page.locator('.steps text').allTextContents();
  assert.deepEqual(
    labels,
    told.map(({ percentile, latency }) => `p${percentile} ${sentences.deltaText(latency)}`),
  );
  await page.locator('.filters select').first().selectOption({ label: 'GET /index' });
  await page.waitForURL(/#route=GET\+%2Findex$/);
  const index = routeNamed('GET /index');
  assert.equal(await title(), words(index));
  assert.deepEqual(await rowsOf(page, 'figures'), latencyRows(index));
  await page.locator('.plot').hover();
  assert.match(await page.locator('.reading text').textContent(), /^slower than .*: A .*, B /);
});

test('an address leads to a route and a percentile, back leads away', async (t) => {
  const page = await browser.open(t, file, { fragment: '#route=GET+%2Findex&at=50' });
  assert.deepEqual(await rowsOf(page, 'causes'), causeRows(at(routeNamed('GET /index'), 50)));
  await page.getByRole('button', { name: 'show all' }).click();
  assert.deepEqual(await rowsOf(page, 'figures'), latencyRows(overall()));
  await page.goBack();
  await page.waitForURL(/#route=GET\+%2Findex/);
  assert.deepEqual(await rowsOf(page, 'figures'), latencyRows(routeNamed('GET /index')));
  const unknown = await browser.open(t, file, { fragment: '#route=no&at=7' });
  assert.deepEqual(await rowsOf(unknown, 'figures'), latencyRows(overall()));
});

test('gates of the change are told first', async (t) => {
  assert.deepEqual(
    diff.gates.map(({ outcome }) => outcome),
    ['missed', 'passed', 'undecided'],
  );
  await assertGates(await browser.open(t, file), diff.gates);
});

test('no string of a recording is more than text, and nothing is fetched', async (t) => {
  const text = readFileSync(file, 'utf8');
  assert.equal(text.match(/<script/g).length, 2, 'no tag but the two of the page');
  assert.equal(text.match(/<\/script/g).length, 2);
  const page = await browser.open(t, file);
  const names = await page.locator('.filters option').allTextContents();
  assert.ok(
    names.some((name) => name.includes('<script>alert(1)</script>')),
    names.join(),
  );
  const refused = await page.evaluate(async () => {
    const violated = [];
    document.addEventListener('securitypolicyviolation', (event) =>
      violated.push(event.effectiveDirective),
    );
    const script = document.createElement('script');
    try {
      script.text = 'document.title = "hacked"';
      document.body.append(script);
    } catch (error) {
      violated.push(error.name);
    }
    await fetch('https://example.invalid/').catch(() => violated.push('fetch failed'));
    await new Promise((resolve) => setTimeout(resolve, 100));
    return violated;
  });
  assert.ok(refused.includes('TypeError') && refused.includes('connect-src'), refused.join());
  assert.equal(await page.title(), 'Bobtail diff');
  // It was this test that asked, and the browser that refused.
  page.troubles.length = 0;
});

for (const colorScheme of ['light', 'dark']) {
  test(`no rule of accessibility is broken, ${colorScheme}`, async (t) => {
    const page = await browser.open(t, file, { colorScheme });
    await page.getByRole('button', { name: 'also what did not move' }).click();
    await assertAccessible(page);
  });
}

test('a phone shows everything without scrolling sideways', async (t) => {
  const viewport = { width: 360, height: 740 };
  const page = await browser.open(t, file, { viewport, hasTouch: true });
  await page.getByRole('button', { name: 'also what did not move' }).click();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= viewport.width, `${wide} wide`);
  await assertAccessible(page);
});

test('the keyboard alone chooses a route, and on paper there are no controls', async (t) => {
  const page = await browser.open(t, file);
  const isRoute = () =>
    page.evaluate(() => {
      const { className, innerText } = document.activeElement;
      return className === 'name' && innerText.startsWith('GET /index');
    });
  for (let i = 0; !(await isRoute()); i += 1) {
    assert.ok(i < 60, 'never got to the route');
    await page.keyboard.press('Tab');
  }
  const { outlineStyle } = await page.evaluate(() => getComputedStyle(document.activeElement));
  assert.notEqual(outlineStyle, 'none');
  await page.keyboard.press('Enter');
  await page.waitForURL(/#route=GET\+%2Findex/);
  await page.emulateMedia({ media: 'print' });
  assert.equal(await page.locator('.filters').isVisible(), false);
});

test('two recordings of which nothing can be told make a page that says so', async (t) => {
  const load = { cwd: makeFolder(t), count: 3, path: () => '/' };
  const few = await recordService(t, [NODE, SHOP], load);
  const page = join(load.cwd, 'few.html');
  const args = ['diff', few, recordings[0], '--html', page];
  const { code, stderr } = await runBobtail(args);
  assert.equal(code, 0, stderr);
  const shown = await browser.open(t, page);
  assert.deepEqual(await textsOf(shown, 'h1'), ['Not enough samples to compare the two.']);
  assert.ok((await rowsOf(shown, 'figures')).every((text) => text.includes('not enough samples')));
  await assertAccessible(shown);
});
