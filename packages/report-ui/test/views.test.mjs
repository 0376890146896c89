/** Clicking through every view of the page of a real recording; its figures are the CLI's. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { before, test } from 'node:test';
import { reportOf } from '../../bobtail/test/cli/recordings.mjs';
import {
  assertAccessible,
  assertComposition,
  assertGates,
  browserBeside,
  textsOf,
  WAIT_MS_MAX,
} from './browser.mjs';
import {
  explained,
  gatedPageOf,
  NODE,
  pageOf,
  recordingHome,
  recordService,
  SHOP,
} from './shop.mjs';

const require = createRequire(import.meta.url);
const sentences = require('../../bobtail/dist/cli/report/sentences.js');
const units = require('../../bobtail/dist/cli/text/units.js');
const { explainMany } = require('../../bobtail/dist/index.js');

const home = recordingHome();
const browser = browserBeside(home);
let folder;
let file;
let report;

before(async () => {
  folder = await recordService(home, [NODE, SHOP]);
  ({ file, report } = await pageOf(folder));
});

/** Waits until something holds: what is drawn follows a click a moment later. */
async function until(holds, what) {
  const deadline = Date.now() + WAIT_MS_MAX;
  while (!(await holds())) {
    assert.ok(Date.now() < deadline, what);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Unfolds the rows of a table that are not shown at first. */
async function showAll(page, what) {
  const more = page.getByRole('button', { name: new RegExp(`^all \\d+ ${what}$`) });
  if ((await more.count()) > 0) await more.click();
}

/** Kinds and rounded times of the segments. */
const segmentWords = ({ kind, part, exact, inferred, durationNs }) =>
  [
    kind,
    part === null ? '' : part === 'pool-wait' ? 'pool wait' : 'pool run',
    `${exact ? '' : '~'}${units.formatDuration(durationNs)}`,
    inferred ? 'inferred' : '',
  ]
    .filter((part) => part !== '')
    .join(' ');

test('culprits and their victims are those of the report', async (t) => {
  const page = await browser.open(t, file);
  const rows = page.locator('.culprits tbody tr');
  const names = await textsOf(page, '.culprits tbody th');
  const costs = await textsOf(page, '.culprits .with-bar');
  // Who is among the first of them depends on what else the machine does.
  assert.ok(names.length > 0);
  for (const [index, culprit] of report.culprits.slice(0, names.length).entries()) {
    assert.ok(names[index].startsWith(sentences.culpritName(culprit)), names[index]);
    const perRequest = culprit.inflictedNs / report.tail.count;
    assert.equal(costs[index], units.formatDuration(perRequest));
    const counts = await rows.nth(index).locator('td').nth(1).innerText();
    assert.equal(counts, sentences.culpritCounts(culprit));
  }
});

/** What each culprit cost each route in the tail, by explaining all of the tail. */
async function costsByVictim() {
  const all = await explainMany(folder, { all: true });
  const tail = all.filter(({ latencyNs }) => latencyNs >= report.tail.thresholdNs);
  assert.equal(tail.length, report.tail.count);
  const costs = new Map();
  for (const { route, segments } of tail) {
    for (const culprit of segments.flatMap(({ culprits }) => culprits)) {
      const key = `${keyOf(nameless(culprit))}\0${route}`;
      costs.set(key, (costs.get(key) ?? 0) + culprit.durationNs);
    }
  }
  return costs;
}

/** A culprit of a segment as the report names it. */
function nameless({ event, type, route, location }) {
  const [kind, word] = /^(gc|cpu|loop|job)(?: (.*))?$/.exec(type)?.slice(1) ?? ['event', type];
  if (kind === 'job') return { kind, type: word ?? kind, route, location: null };
  if (kind !== 'event') return { kind, type: word, route: null, location: null };
  assert.notEqual(event, 0, type);
  return { kind, type, route, location };
}

/** Culprits are told apart by line of a function; where in the line is not asked here. */
function keyOf({ kind, type, route, location }) {
  const line = kind === 'job' ? null : (location?.replace(/:\d+$/, '') ?? null);
  return [kind, type, route, line].join('\0');
}

test('what each victim paid is what explain says of the whole tail', async (t) => {
  const costs = await costsByVictim();
  const page = await browser.open(t, file);
  await showAll(page, 'culprits');
  const rows = page.locator('.culprits tbody tr');
  assert.equal(await rows.count(), report.culprits.length);
  let told = 0;
  for (const [index, culprit] of report.culprits.entries()) {
    // Several lines of one function, and kinds below the last row that is kept, are one row, and so
    // are files whose names differ in a number.
    const same = report.culprits.filter((one) => keyOf(one) === keyOf(culprit));
    if (same.length > 1 || /:n\b/.test(culprit.type)) continue;
    const victims = await rows.nth(index).locator('.victims li').allInnerTexts();
    let leftNs = culprit.inflictedNs;
    for (const text of victims.slice(0, 4)) {
      const [, route, , share] = /^(.*\S)\s+(\S+ \S+)\s+(\S+ %)$/.exec(text) ?? assert.fail(text);
      const paidNs = costs.get(`${keyOf(culprit)}\0${route}`);
      leftNs -= paidNs;
      const figure = units.formatDuration(paidNs / report.tail.count);
      assert.equal(text.replace(/\s+/g, ' '), `${route} ${figure} ${share}`);
      assert.equal(share, units.formatShare(paidNs, culprit.inflictedNs));
      told += 1;
    }
    // What is left of the cost has a line of its own, so that the row adds up.
    assert.equal(victims.length > 4, leftNs > 0, `${leftNs} of ${victims.join()}`);
  }
  assert.ok(told > 0, 'somebody paid');
  const [caption] = await textsOf(page, '.culprits caption');
  assert.ok(caption.includes(units.countOf(report.tail.count, 'request')), caption);
});

test('what to do, what was waited for and how far to trust it are told', async (t) => {
  const page = await browser.open(t, file);
  const advice = await textsOf(page, '.advice li b');
  assert.equal(advice.length, sentences.advice(report).length);
  const waits = await textsOf(page, '.waits .with-bar .figure');
  const expected = sentences.tailIo(report).map(({ ioNs }) => units.formatDuration(ioNs));
  assert.deepEqual(waits, expected.slice(0, 8));
  const trust = await page.locator('section[aria-labelledby=trust]').innerText();
  for (const part of sentences.trustParts(report)) assert.ok(trust.includes(part), part);
  // Never recorded unasked; what else is not depends on the machine. See trust.test.mjs.
  const missing = report.unavailable.map(({ mechanism }) => mechanism);
  assert.ok(missing.includes('time not running'), missing.join());
  const listed = 'section[aria-labelledby=trust] h3:text-is("Not measured here") + ul li b';
  assert.deepEqual(await textsOf(page, listed), missing);
});

test('the longest collections, what they interrupted and whom they delayed', async (t) => {
  const page = await browser.open(t, file);
  assert.ok(report.pauses.length > 0, 'the shop makes garbage');
  const more = page.getByRole('button', { name: `all ${report.pauses.length} collections` });
  if ((await more.count()) > 0) await more.click();
  const rows = page.locator('.pauses tbody tr');
  assert.equal(await rows.count(), report.pauses.length);
  for (const [index, pause] of report.pauses.entries()) {
    const text = (await rows.nth(index).innerText()).replace(/\s+/g, ' ');
    const at = `${pause.kind} at ${units.formatDuration(pause.startNs)}`;
    assert.ok(text.startsWith(`${at} ${units.formatDuration(pause.durationNs)} `), text);
    assert.ok(text.includes(sentences.pausePlace(pause)), text);
    const waited = pause.victims === 0 ? 'nobody' : sentences.pauseCounts(pause);
    assert.ok(text.includes(waited), `${waited} in ${text}`);
    const ids = await rows.nth(index).locator('a').allInnerTexts();
    const named = pause.requests.slice(0, 4);
    assert.deepEqual(
      ids,
      named.map(({ id }) => id),
    );
    for (const { id, delayNs, latencyNs } of named) {
      const delay = `${units.formatDuration(delayNs)} of ${units.formatDuration(latencyNs)}`;
      assert.ok(text.includes(`${id} ${delay}`), `${id} ${delay} in ${text}`);
    }
  }
  const worst = report.pauses.find(({ victims }) => victims > 0);
  assert.ok(worst, 'some collection delayed somebody');
  const [{ id, latencyNs }] = worst.requests;
  await page.locator('.pauses a', { hasText: id }).first().click();
  await page.locator('.chosen .timeline').waitFor();
  const heading = await page.locator('.chosen h3').innerText();
  assert.ok(heading.endsWith(units.formatDuration(latencyNs)), heading);
  await page.locator('.filters select').first().selectOption({ label: 'GET /login' });
  assert.match(await page.locator('section[aria-labelledby=pauses]').innerText(), /all routes/);
});

test('gates are told first, each with its limit, its figure and what came of it', async (t) => {
  const gates = ['p50<10s', 'p50<1ns', 'p99.9<10s', 'tail.gc<=100%', 'losses=0'];
  const gated = await gatedPageOf(`${folder}-gates.html`, ['report', folder], gates);
  assert.deepEqual(
    gated.answer.gates.map(({ outcome }) => outcome),
    ['passed', 'missed', 'undecided', 'passed', 'passed'],
  );
  const page = await browser.open(t, gated.file);
  await assertGates(page, gated.answer.gates);
  const first = await page.locator('main > section').first().getAttribute('aria-labelledby');
  assert.equal(first, 'gates');
  await assertAccessible(page);
  const bare = await browser.open(t, file);
  assert.equal(await bare.locator('.gates').count(), 0);
});

test('the slowest request opens with the segments of explain', async (t) => {
  const page = await browser.open(t, file);
  const explanation = await explained(
    folder,
    await page.locator('.requests tbody a').first().innerText(),
  );
  await page.locator('.requests tbody a').first().click();
  const heading = `${explanation.route} ${units.formatDuration(explanation.latencyNs)}`;
  assert.deepEqual(await textsOf(page, '.chosen h3'), [heading]);
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H3');
  await page.getByText(/All \d+ segments? as a table/).click();
  const chips = await textsOf(page, '.segments .chip');
  assert.deepEqual(chips, explanation.segments.map(segmentWords));
  const strip = await page
    .locator('.strip .fill')
    .evaluateAll((fills) => fills.map((fill) => Number.parseFloat(fill.style.width)));
  const whole = strip.reduce((sum, share) => sum + share, 0);
  assert.ok(Math.abs(whole - 100) < 0.01, String(whole));
  const onPath = explanation.events.filter((event) => event.onPath);
  assert.equal(await page.locator('.edg li.on-path').count(), onPath.length);
  assert.equal(await page.locator('.edg path.critical').count(), onPath.length - 1);
  await page.getByRole('button', { name: 'also those beside the path' }).click();
  assert.ok((await page.locator('.edg li').count()) > onPath.length);
});

test('a segment leads to its cause, in the panel, the graph and the timeline', async (t) => {
  const page = await browser.open(t, file);
  const ids = await textsOf(page, '.requests tbody a');
  const explanations = await Promise.all(ids.slice(0, 6).map((id) => explained(folder, id)));
  const queued = explanations.find(({ segments }) =>
    segments.some(({ kind, durationNs }) => kind === 'queue' && durationNs > 5e6),
  );
  assert.ok(queued, 'some slow request was queued');
  const { segments } = queued;
  const index = segments.findIndex(({ kind, durationNs }) => kind === 'queue' && durationNs > 5e6);
  // A collection that delayed it leads there, too.
  const listed = page.locator('table.requests');
  await listed.getByRole('link', { name: queued.id, exact: true }).click();
  await page
    .locator('.edg .chip', { hasText: segmentWords(segments[index]) })
    .first()
    .click();
  assert.match(page.url(), new RegExp(`segment=${index}(&|$)`));
  const cause = await page.locator('.cause').innerText();
  assert.ok(cause.startsWith(`queue ${units.formatDuration(segments[index].durationNs)}`), cause);
  const [worst] = [...segments[index].culprits].sort((a, b) => b.durationNs - a.durationNs);
  const who = worst.type.startsWith('gc ')
    ? worst.type.slice(3)
    : worst.type.startsWith('loop ')
      ? 'event loop'
      : worst.type.startsWith('job ')
        ? 'job of'
        : (worst.route ?? 'no request');
  assert.ok(cause.includes(who), `${who} in ${cause}`);
  // Each is rounded to a per cent, and `<1 %` is what rounds to none.
  const told = await page.locator('.cause .with-bar .count').allInnerTexts();
  const percents = told.map((share) => (share.startsWith('<') ? 0 : Number.parseFloat(share)));
  const least = percents.reduce((all, percent) => all + Math.max(0, percent - 0.5), 0);
  const most = percents.reduce((all, percent) => all + percent + 0.5, 0);
  assert.ok(least <= 100 && most >= 100, `the culprits are all of it: ${told}`);
  // Around it are 15 % on each side, or less where it is most of the request, and names of lanes.
  const widthOf = async (selector) => (await page.locator(selector).boundingBox())?.width ?? 0;
  const isZoomed = async () =>
    (await widthOf('.timeline .path .chosen')) > 0.55 * (await widthOf('.timeline svg'));
  await until(isZoomed, 'the timeline zooms');
  await page.getByRole('button', { name: 'also those beside the path' }).click();
  assert.ok((await page.locator('.edg li.culprit').count()) > 0);
  assert.equal(await page.locator('.timeline .path .chosen').count(), 1);
});

test('the timeline shows the loop, zooms, moves and comes back', async (t) => {
  const page = await browser.open(t, file);
  await page.locator('.requests tbody a').first().click();
  const ticks = () => page.locator('.timeline .axes text').allTextContents();
  const whole = await ticks();
  assert.ok((await page.locator('.timeline .run rect').count()) > 0);
  assert.ok((await page.locator('.timeline .path rect').count()) > 0);
  for (const name of ['Zoom in', 'Zoom in', 'Later', 'Earlier', 'Zoom out']) {
    const seen = await ticks();
    await page.getByRole('button', { name, exact: true }).click();
    await until(async () => String(await ticks()) !== String(seen), name);
  }
  await page.getByRole('button', { name: 'Show the whole request' }).click();
  await until(async () => String(await ticks()) === String(whole), 'whole');
  await page.getByText('The longest of what is shown, as a table').click();
  assert.ok((await page.locator('.timeline details tbody tr').count()) > 0);
});

test('filters by route: what it is made of, the distribution and the list follow', async (t) => {
  const page = await browser.open(t, file);
  await page.locator('.filters select').first().selectOption({ label: 'GET /login' });
  await page.waitForURL(/#route=GET\+%2Flogin$/);
  const rows = report.breakdown.filter(({ route }) => route === 'GET /login');
  const [composition] = await textsOf(page, '#made-of ~ div .composition tbody');
  for (const row of rows) {
    assert.ok(composition.includes(units.formatDuration(row.latencyNs)), composition);
  }
  const count = rows.reduce((sum, row) => sum + row.count, 0);
  const title = await page.locator('svg[role=img] title').first().textContent();
  assert.ok(title.startsWith(`Latency of ${units.formatCount(count)} requests`), title);
  const names = await textsOf(page, '.requests tbody td:nth-child(2)');
  assert.ok(names.length > 0 && names.every((name) => name === 'GET /login'), names.join());
});

/** Ids and latencies of all requests of the list. */
async function listedOf(page) {
  await showAll(page, 'requests');
  const ids = await textsOf(page, '.requests tbody a');
  const latencies = await textsOf(page, '.requests tbody .figure');
  return ids.map((id, index) => `${id} ${latencies[index]}`);
}

test('a percentile parts tail and rest, not who made the tail wait', async (t) => {
  const page = await browser.open(t, file);
  const culprits = await textsOf(page, '.culprits tbody tr');
  await page.locator('.filters select').last().selectOption({ index: 0 });
  const [lowest] = Object.keys(report.requests.percentilesNs).sort((a, b) => a - b);
  await page.waitForURL(new RegExp(`#tail=${lowest}$`));
  const lowered = await reportOf(folder, '--tail', lowest);
  assert.ok(lowered.tail.thresholdNs < report.tail.thresholdNs);
  const whole = ({ route }) => route === '*';
  await assertComposition(page, '#made-of', lowered.breakdown.filter(whole));
  const note = `Told for the tail of the report, from p${report.tail.percentile} on.`;
  assert.ok((await textsOf(page, 'section[aria-labelledby=culprits] .note')).includes(note));
  assert.deepEqual(await textsOf(page, '.culprits tbody tr'), culprits);
});

test('a cohort chooses among the requests that are listed, and no other figure', async (t) => {
  const page = await browser.open(t, file);
  const latencies = new Map();
  for (const one of await explainMany(folder, { all: true })) latencies.set(one.id, one.latencyNs);
  const ids = (await listedOf(page)).map((text) => text.split(' ')[0]);
  const { thresholdNs } = report.tail;
  const expected = (isChosen) =>
    ids
      .filter((id) => isChosen(latencies.get(id)))
      .map((id) => `${id} ${units.formatDuration(latencies.get(id))}`);
  const rest = expected((ns) => ns < thresholdNs);
  const tail = expected((ns) => ns >= thresholdNs);
  assert.ok(rest.length > 0 && tail.length > 0, `${rest.length} and ${tail.length}`);
  const whole = report.breakdown.filter(({ route }) => route === '*');
  for (const [cohort, listed] of Object.entries({ rest, tail })) {
    await page.getByLabel(cohort, { exact: true }).check();
    await page.waitForURL(new RegExp(`#cohort=${cohort}$`));
    assert.deepEqual(await listedOf(page), listed);
    await assertComposition(page, '#made-of', whole);
  }
});

const UNITS = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 };

/** Nanoseconds of a text of three digits. */
function durationOf(text) {
  const [, value, unit] = /^([\d.]+) (\S+)$/.exec(text) ?? assert.fail(text);
  return Number(value) * UNITS[unit];
}

test('what was waited for is that of the route and the percentile', async (t) => {
  const page = await browser.open(t, file);
  const routes = report.breakdown.filter(
    (row) => row.class === 'tail' && row.route !== '*' && row.ioNs > 0,
  );
  assert.ok(routes.length > 0, 'some route of the tail waited');
  const figures = async () => (await textsOf(page, '.waits .with-bar .figure')).map(durationOf);
  for (const { route, ioNs } of routes) {
    await page.locator('.filters select').first().selectOption({ label: route });
    await page.waitForURL(/#route=/);
    const shown = await figures();
    assert.ok(shown.length > 0 && shown.length <= 8, route);
    const sum = shown.reduce((all, ns) => all + ns, 0);
    // Eight rows are shown, and each is rounded to three digits.
    const least = shown.length < 8 ? ioNs * 0.99 - 10 : 0;
    assert.ok(sum >= least && sum <= ioNs * 1.01 + 10, `${sum} of ${ioNs} in ${route}`);
  }
  await page.getByRole('button', { name: 'show all' }).click();
  const whole = await figures();
  await page.locator('.filters select').last().selectOption({ index: 0 });
  await page.waitForURL(/#tail=/);
  await until(async () => String(await figures()) !== String(whole), 'more requests are the tail');
});
