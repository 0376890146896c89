/** Everybody can read the page: screen readers, the keyboard alone, phones, paper, the dark. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { assertAccessible, browserBeside, textsOf } from './browser.mjs';
import { NODE, pageOf, recordingHome, recordService, SHOP } from './shop.mjs';

const home = recordingHome();
const browser = browserBeside(home);
let file;

before(async () => {
  ({ file } = await pageOf(await recordService(home, [NODE, SHOP])));
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

/** Everything on the page that shows something other than at first. */
const VIEWS = {
  'bars as shares': (page) => page.getByRole('button', { name: 'as shares' }).click(),
  'one route': (page) => page.locator('.filters select').first().selectOption({ index: 2 }),
  'another percentile': (page) => page.locator('.filters select').last().selectOption({ index: 0 }),
  'the rest only': (page) => page.getByLabel('rest', { exact: true }).check(),
  'all rows of all tables': async (page) => {
    const more = page.getByRole('button', { name: /^all \d+ / });
    while ((await more.count()) > 0) await more.first().click();
  },
  'a segment of a request': async (page) => {
    await page.locator('.requests tbody a').first().click();
    await page.locator('.edg .chip').first().click();
  },
  'a request that is not here': (page) =>
    page.evaluate(() => {
      location.hash = '#request=1-0:99999999';
    }),
};

for (const colorScheme of ['light', 'dark']) {
  for (const [name, see] of Object.entries(VIEWS)) {
    test(`no rule is broken by ${name}, ${colorScheme}, nor is a phone too narrow`, async (t) => {
      const page = await browser.open(t, file, { colorScheme });
      await see(page);
      await assertAccessible(page);
      await page.setViewportSize({ width: 360, height: 740 });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 360, `${wide} wide`);
    });
  }
}

test('a screen reader is told what figures and tables show, and what changes', async (t) => {
  const page = await browser.open(t, file);
  await unfold(page);
  const told = await page.evaluate(() => ({
    figures: [...document.querySelectorAll('svg[role=img]')].map(
      (svg) => document.getElementById(svg.getAttribute('aria-labelledby'))?.textContent ?? '',
    ),
    unnamed: [...document.querySelectorAll('button, select, input, a')].filter(
      (one) => !(one.innerText || one.labels?.[0]?.innerText || one.ariaLabel),
    ).length,
    sections: [...document.querySelectorAll('section')].filter(
      (one) => !document.getElementById(one.getAttribute('aria-labelledby'))?.textContent,
    ).length,
    headless: [...document.querySelectorAll('table')].filter(
      (one) => one.querySelectorAll('th[scope]').length === 0,
    ).length,
  }));
  assert.ok(told.figures.length >= 2, told.figures.join());
  for (const words of told.figures) assert.ok(words.length > 20, words);
  assert.deepEqual([told.unnamed, told.sections, told.headless], [0, 0, 0]);
  assert.equal(await page.locator('.cause').getAttribute('aria-live'), 'polite');
  const levels = await page
    .locator('h1, h2, h3, h4')
    .evaluateAll((all) => all.map((one) => Number(one.tagName[1])));
  levels.reduce((before, level) => {
    assert.ok(level <= before + 1, `a heading of level ${level} after one of ${before}`);
    return level;
  });
});

test('on paper it is light, whole and without controls', async (t) => {
  const page = await browser.open(t, file, { colorScheme: 'dark' });
  await page.locator('.requests tbody a').first().click();
  await page.emulateMedia({ media: 'print' });
  for (const control of ['.filters', '.choice', 'summary', 'button:not(.name, .chip)']) {
    for (const one of await page.locator(control).all()) {
      assert.equal(await one.isVisible(), false, await one.innerText());
    }
  }
  assert.ok(await page.locator('.edg .chip').first().isVisible());
  assert.ok(await page.locator('.timeline svg').isVisible());
  const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.ok(Number(/\d+/.exec(paper)[0]) > 240, paper);
  const pdf = await page.pdf({ format: 'A4' });
  assert.ok(pdf.length > 10_000);
});
