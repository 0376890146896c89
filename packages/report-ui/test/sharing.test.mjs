/** What is looked at can be sent to others: the address, the button that copies it, bad links. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { before, test } from 'node:test';
import { assertAccessible, browserBeside, textsOf } from './browser.mjs';
import { explained, NODE, pageOf, recordingHome, recordService, SHOP } from './shop.mjs';

const require = createRequire(import.meta.url);
const units = require('../../bobtail/dist/cli/text/units.js');

const home = recordingHome();
const browser = browserBeside(home);
const CLIPBOARD = ['clipboard-read', 'clipboard-write'];
let folder;
let file;

before(async () => {
  folder = await recordService(home, [NODE, SHOP], { count: 400 });
  ({ file } = await pageOf(folder));
});

/** The chosen request must be this one, with this segment told. */
async function assertShows(page, { id, route, latencyNs, segments }, index) {
  const heading = `${route} ${units.formatDuration(latencyNs)}`;
  assert.deepEqual(await textsOf(page, '.chosen h3'), [heading]);
  assert.ok((await page.locator('.chosen article > p').first().innerText()).includes(id));
  assert.equal(await page.locator('.strip .fill').count(), segments.length);
  const { kind, durationNs } = segments[index];
  const cause = (await page.locator('.cause h4').innerText()).trim();
  assert.ok(cause.startsWith(`${kind} ${units.formatDuration(durationNs)}`), cause);
  const pressed = await page.locator('.segments .chip').evaluateAll((chips) => ({
    count: chips.length,
    at: chips.findIndex((chip) => chip.getAttribute('aria-pressed') === 'true'),
  }));
  assert.deepEqual(pressed, { count: segments.length, at: index });
}

test('the copied link opens the same request and segment in a fresh page', async (t) => {
  const page = await browser.open(t, file, { permissions: CLIPBOARD });
  const id = (await textsOf(page, '.requests tbody a'))[2];
  await page.locator('.requests tbody a').nth(2).click();
  const explanation = await explained(folder, id);
  const last = explanation.segments.length - 1;
  await page.getByText(/All \d+ segments? as a table/).click();
  await page.locator('.segments .chip').nth(last).click();
  await assertShows(page, explanation, last);
  await page.getByRole('button', { name: 'copy link' }).click();
  await page.getByRole('button', { name: 'copied' }).waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(link, page.url());
  const fragment = link.slice(link.indexOf('#'));
  const fresh = await browser.open(t, file, { fragment });
  assert.equal(fresh.url(), link);
  await assertShows(fresh, explanation, last);
  assert.equal(await fresh.locator('div.chosen').evaluate((one) => one.checkVisibility()), true);
});

test('where the clipboard is refused, the address is there to be copied by hand', async (t) => {
  const page = await browser.open(t, file, { permissions: [] });
  await page.locator('.requests tbody a').first().click();
  await page.getByRole('button', { name: 'copy link' }).click();
  const field = page.locator('.address input');
  await field.waitFor();
  assert.equal(await field.inputValue(), page.url());
  const selected = await field.evaluate(
    (one) => document.activeElement === one && one.selectionEnd - one.selectionStart,
  );
  assert.equal(selected, page.url().length);
  await assertAccessible(page);
});

test('an address leads to a request, back leads away', async (t) => {
  const page = await browser.open(t, file);
  const id = (await textsOf(page, '.requests tbody a'))[1];
  const shared = await browser.open(t, file, { fragment: `#request=${id}&segment=0` });
  await assertShows(shared, await explained(folder, id), 0);
  await page.locator('.requests tbody a').nth(1).click();
  await page.locator('.chosen').waitFor();
  await page.goBack();
  await page.locator('.chosen').waitFor({ state: 'detached' });
});

test('a link to a request that is not here says so, and how to find it', async (t) => {
  const fragment = '#request=1-0:77&route=no&tail=x&segment=5';
  const page = await browser.open(t, file, { fragment });
  assert.deepEqual(await textsOf(page, '.chosen h3'), ['Request 1-0:77']);
  const text = await page.locator('.chosen').innerText();
  assert.match(text, /not in this file/);
  assert.match(text, /bobtail explain --request 1-0:77/);
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H3');
  await assertAccessible(page);
  await page.getByRole('button', { name: 'close' }).click();
  assert.equal(await page.locator('.chosen').count(), 0);
});

for (const id of ['1-0:7; rm -rf ~', '<img src=x onerror=alert(1)>', `1-0:${'7'.repeat(3000)}`]) {
  test(`a link to ${id.slice(0, 30)} offers no command to paste`, async (t) => {
    const fragment = `#${new URLSearchParams({ request: id })}`;
    const page = await browser.open(t, file, { fragment });
    const text = await page.locator('.chosen').innerText();
    assert.match(text, /not the id of a request/);
    assert.doesNotMatch(text, /bobtail explain/);
    assert.equal(await page.locator('.chosen img').count(), 0);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 1366, `${wide} wide`);
  });
}
