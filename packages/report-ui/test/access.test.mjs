/** Everybody can read the page: screen readers, the keyboard alone, phones, paper, the dark. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertAccessible, startBrowser, textsOf } from './browser.mjs';
import { NODE, pageOf, recordingHome, recordService, SHOP } from './shop.mjs';

const home = recordingHome();
let browser;
let file;

before(async () => {
  ({ file } = await pageOf(await recordService(home, [NODE, SHOP])));
  browser = await startBrowser();
});

after(async () => {
  await browser.browser.close();
  await home.close();
});

/** Opens the slowest request and everything that is folded. */
async function unfold(page) {
  await page.locator('.requests tbody a').first().click();
  await page.getByRole('button', { name: 'also those beside the path' }).click();
  for (const details of await page.locator('details').all()) {
    await details.evaluate((one) => {
      one.open = true;
    });
  }
}

for (const colorScheme of ['light', 'dark']) {
  test(`no rule of accessibility is broken, ${colorScheme}`, async (t) => {
    const page = await browser.open(t, file, { colorScheme });
    await assertAccessible(page);
    await unfold(page);
    await assertAccessible(page);
    const [paper, ink] = await page.evaluate(() => {
      const { backgroundColor, color } = getComputedStyle(document.body);
      return [backgroundColor, color].map((text) => Number(/\d+/.exec(text)[0]));
    });
    assert.equal(paper < ink, colorScheme === 'dark');
  });
}

test('a phone shows everything without scrolling sideways', async (t) => {
  const viewport = { width: 360, height: 740 };
  const page = await browser.open(t, file, { viewport, hasTouch: true });
  await unfold(page);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= viewport.width, `${wide} wide`);
  await assertAccessible(page);
  assert.ok((await textsOf(page, '.composition .figure')).every((text) => text !== ''));
});

test('the keyboard alone filters, opens a request and finds its cause', async (t) => {
  const page = await browser.open(t, file);
  const focused = () =>
    page.evaluate(() => {
      const { tagName, className, innerText } = document.activeElement;
      const { outlineStyle } = getComputedStyle(document.activeElement);
      return { tag: tagName, kind: className, text: innerText, outline: outlineStyle };
    });
  const tabTo = async (wanted) => {
    for (let i = 0; i < 200; i += 1) {
      await page.keyboard.press('Tab');
      const at = await focused();
      if (wanted(at)) {
        assert.notEqual(at.outline, 'none', `${at.tag} ${at.text} shows that it has the focus`);
        return at;
      }
    }
    return assert.fail('never got there');
  };
  await tabTo(({ tag }) => tag === 'SELECT');
  await page.keyboard.press('ArrowDown');
  await page.waitForFunction(() => location.hash.startsWith('#route='));
  await tabTo(({ tag, text }) => tag === 'A' && /^\d+-\d+:\d+$/.test(text));
  await page.keyboard.press('Enter');
  await page.locator('.chosen h3').waitFor();
  assert.equal((await focused()).tag, 'H3');
  await tabTo(({ tag, text }) => tag === 'BUTTON' && text === '+');
  await page.keyboard.press('Enter');
  const { text } = await tabTo(({ kind }) => kind === 'chip');
  await page.keyboard.press('Space');
  await page.waitForFunction(() => location.hash.includes('segment='));
  const cause = await page.locator('.cause h4').innerText();
  assert.ok(cause.startsWith(text.trim().split(' ')[0]), `${text} in ${cause}`);
});

test('on paper it is light, whole and without controls', async (t) => {
  const page = await browser.open(t, file, { colorScheme: 'dark' });
  await page.emulateMedia({ media: 'print' });
  assert.equal(await page.locator('.filters').isVisible(), false);
  const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.ok(Number(/\d+/.exec(paper)[0]) > 240, paper);
  const pdf = await page.pdf({ format: 'A4' });
  assert.ok(pdf.length > 10_000);
});
