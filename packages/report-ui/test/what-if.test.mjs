/** The page of a what-if says what `whatif --json` says, and shows who beats whom. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { drawRecording } from '../../../workloads/harness/drawings.mjs';
import { runBobtail } from '../../bobtail/test/cli/run-bobtail.mjs';
import { assertValid } from '../../bobtail/test/cli/schemas.mjs';
import { assertAccessible, browserBeside, textsOf } from './browser.mjs';
import { recordingHome } from './shop.mjs';

const require = createRequire(import.meta.url);
const sentences = require('../../bobtail/dist/cli/whatif/sentences.js');

const REQUESTS = 1500;
const EVERY_US = 2_000;
/** Most requests take 0.4 ms, one in forty 9 ms, and in one of a hundred V8 collects for 12 ms. */
const costUs = (n) => (n % 40 === 7 ? 9_000 : 400);
const PAUSE_US = 12_000;
const collects = (n) => n % 100 === 53;
const POLICIES = ['static:3.3', 'static:peak', 'gc-boost', 'combined', 'deadline', 'oracle'];
const HOSTILE = 'gc=0.7,native=0.9';

const home = recordingHome();
const browser = browserBeside(home);
let file;
let answer;

/** A loop that takes one request after the other, and sleeps when there is none. */
function scene() {
  const lines = ['open 1 server'];
  let nowUs = 0;
  for (let n = 1; n <= REQUESTS; n += 1) {
    const readyUs = n * EVERY_US;
    if (readyUs > nowUs) {
      lines.push(`${nowUs}us poll for=${readyUs - nowUs}us count=1`);
      nowUs = readyUs;
    }
    lines.push(`${nowUs}us begin read handle=1 ready=${readyUs}us`, `source ${n} "GET /${n % 3}"`);
    if (collects(n)) {
      lines.push(`${nowUs + 100}us gc mark for=${PAUSE_US}us`);
      nowUs += PAUSE_US;
    }
    nowUs += costUs(n);
    lines.push(`${nowUs}us sink ${n} 200`, 'end');
  }
  return lines.join('\n');
}

before(async () => {
  const folder = drawRecording(home.folder, 'drawn', scene());
  file = join(home.folder, 'whatif.html');
  const flags = POLICIES.flatMap((one) => ['--policy', one]);
  const args = ['whatif', folder, ...flags, '--set', HOSTILE, '--html', file, '--json'];
  const { code, stdout, stderr } = await runBobtail(args);
  assert.equal(code, 0, stderr);
  answer = JSON.parse(stdout);
  assertValid('whatif', answer);
});

test('who is beaten is told by JSON, figure and table alike', async (t) => {
  const { frontier, unchanged } = answer;
  assert.equal(frontier.percentile, answer.percentiles[0]);
  const names = POLICIES.map((one) => `policy=${one}`);
  assert.deepEqual(
    frontier.points.map(({ name }) => name),
    [unchanged.name, ...names],
  );
  for (const one of frontier.points) {
    const better = frontier.points.filter(
      ({ reduction, energy }) =>
        reduction >= one.reduction &&
        energy <= one.energy &&
        (reduction > one.reduction || energy < one.energy),
    );
    assert.equal(one.beatenBy === null, better.length === 0, JSON.stringify(one));
    if (one.beatenBy !== null) assert.ok(better.some(({ name }) => name === one.beatenBy));
  }
  const page = await browser.open(t, file);
  assert.deepEqual(await textsOf(page, 'h1'), [sentences.headline(answer)]);
  const rows = await textsOf(page, '.schemes tbody tr');
  const expected = sentences.frontierOrder(frontier).map((one) => {
    const policy = answer.scenarios.find(({ name }) => name === one.name)?.policy;
    const figures = [sentences.reductionText(one.reduction), sentences.reductionIntervalText(one)];
    const boosts = String(policy?.boosts ?? 0).replace(/\B(?=(\d{3})+$)/g, ',');
    const energy = `${one.energy.toFixed(3)}×`;
    return [sentences.schemeName(one.name), ...figures, energy, boosts]
      .filter((text) => text !== '')
      .concat(sentences.standing(one))
      .join(' ');
  });
  assert.deepEqual(rows, expected);
  const beaten = frontier.points.filter(({ beatenBy }) => beatenBy !== null);
  assert.equal(await page.locator('.point.beaten').count(), beaten.length);
  assert.equal(await page.locator('.point').count(), frontier.points.length);
  // To the right and down is better.
  const placeOf = async (index) => page.locator('.point circle').nth(index).boundingBox();
  const [base, peak] = [await placeOf(0), await placeOf(names.indexOf('policy=static:peak') + 1)];
  assert.ok(peak.x > base.x && peak.y < base.y, JSON.stringify({ base, peak }));
});

test('each lever has a frontier of its own, and the page says so', async (t) => {
  const other = join(home.folder, 'levers.html');
  const slower = 'latency=1ms,policy=combined';
  const args = ['--policy', 'combined', '--set', slower, '--html', other];
  const { code, stderr } = await runBobtail(['whatif', join(home.folder, 'drawn'), ...args]);
  assert.equal(code, 0, stderr);
  const parts = async (path) => {
    const page = await browser.open(t, path);
    const line = await page.locator('path.frontier').getAttribute('d');
    return [line.match(/M/g).length, (await textsOf(page, 'figcaption'))[0]];
  };
  const [[one, said], [two, saidOfTwo]] = [await parts(file), await parts(other)];
  assert.deepEqual([one, two], [1, 2]);
  assert.doesNotMatch(said, /with the same lever/);
  assert.match(saidOfTwo, /no other scheme with the same lever is as good/);
});

test('all scenarios and components are there; only policies are compared', async (t) => {
  const page = await browser.open(t, file);
  const [scenarios, components] = await Promise.all(
    ['scenarios', 'sensitivity'].map((id) =>
      textsOf(page, `section[aria-labelledby=${id}] tbody th`),
    ),
  );
  assert.deepEqual(
    scenarios.map((text) => text.split(' ')[0]),
    [answer.unchanged, ...answer.scenarios].map(({ name }) => name),
  );
  assert.deepEqual(
    components,
    answer.sensitivity.slice(0, 20).map(({ component }) => component),
  );
  assert.ok(!(await textsOf(page, '.schemes th')).includes(HOSTILE));
});

test('the keyboard alone finds the point of a scheme', async (t) => {
  const page = await browser.open(t, file);
  const name = () => page.evaluate(() => document.activeElement.innerText);
  for (let i = 0; (await name()) !== 'combined'; i += 1) {
    assert.ok(i < 20, 'never got there');
    await page.keyboard.press('Tab');
  }
  const { outlineStyle } = await page.evaluate(() => getComputedStyle(document.activeElement));
  assert.notEqual(outlineStyle, 'none');
  assert.deepEqual(await page.locator('.point.chosen').count(), 1);
  const title = await page.locator('svg[role=img] title').textContent();
  assert.match(title, /^p[\d.]+ less, and energy: 7 points, on the frontier /);
});

for (const colorScheme of ['light', 'dark']) {
  test(`no rule of accessibility is broken, ${colorScheme}, also on a phone`, async (t) => {
    const page = await browser.open(t, file, { colorScheme });
    await assertAccessible(page);
    await page.setViewportSize({ width: 360, height: 740 });
    await assertAccessible(page);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 360, `${wide} wide`);
  });
}

test('nothing else runs or is fetched', async (t) => {
  assert.equal(readFileSync(file, 'utf8').match(/<script/g).length, 2);
  const page = await browser.open(t, file);
  const policy = await page
    .locator('meta[http-equiv=Content-Security-Policy]')
    .getAttribute('content');
  assert.match(policy, /^default-src 'none'; script-src 'sha256-/);
});
