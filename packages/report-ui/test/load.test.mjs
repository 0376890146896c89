/**
 * The page of a recording of 100,000 requests opens quickly, and is no larger than that of few.
 *
 * What opening costs is measured as CPU time of the page's main thread, against a piece of work of
 * the same kind in the same browser: a slow machine, or one that does other things meanwhile, slows
 * both. How long it takes on a quiet machine is measured by `bench/html/run.mjs`.
 */
import assert from 'node:assert/strict';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { growRecording } from '../../../workloads/harness/drawings.mjs';
import { browserBeside } from './browser.mjs';
import { pageOf, recordingHome } from './shop.mjs';

const EVENTS = 4_400_000;
const REQUESTS = 100_000;
const ROUNDS = 3;
const BYTES_MAX = 6 * 2 ** 20;
const ELEMENTS_MAX = 4_000;
/** Cost of opening by that of the work beside it; about 0.7 where this was written. */
const COST_MAX = 2;

const home = recordingHome();
const browser = browserBeside(home);
let blank;
let file;
let report;

before(async () => {
  ({ file, report } = await pageOf(growRecording(home.folder, EVENTS)));
  blank = join(home.folder, 'blank.html');
  writeFileSync(blank, '<!doctype html><title>blank</title>');
});

/** CPU seconds of the main thread while `use` works on a new page, by the browser's own count. */
async function cpuSeconds(use) {
  const page = await browser.newPage({ viewport: { width: 1366, height: 900 } });
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const spent = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration').value;
  };
  // A file like the page, so that both are drawn by one process, whose time is counted.
  await page.goto(pathToFileURL(blank).href);
  const before = await spent();
  const answer = await use(page);
  const seconds = (await spent()) - before;
  await page.close();
  return { seconds, answer };
}

/** Opens the page; resolves to the number of its elements when it is drawn. */
async function open(page) {
  await page.goto(pathToFileURL(file).href);
  await page.locator('h1').waitFor();
  return page.evaluate(
    () =>
      new Promise((resolve) => {
        const count = () => resolve(document.querySelectorAll('*').length);
        requestAnimationFrame(() => setTimeout(count));
      }),
  );
}

/** Parses 5 MB of JSON and lays out a table of 2000 rows, about what opening the page takes. */
async function workBeside(page) {
  await page.evaluate(() => {
    const row = (_, i) => ({ i, name: `name ${i}`, at: [i, i + 1, i + 2, i / 3] });
    const text = JSON.stringify(Array.from({ length: 80_000 }, row));
    const rows = JSON.parse(text).slice(0, 2000);
    const table = document.createElement('table');
    for (const { i, name, at } of rows) {
      const line = table.insertRow();
      for (const cell of [i, name, ...at]) line.insertCell().append(String(cell));
    }
    document.body.append(table);
    return table.getBoundingClientRect().height + text.length;
  });
}

const least = (all) => all.reduce((best, one) => (one.seconds < best.seconds ? one : best));

test('a page of 100,000 requests is small, and opening it costs little', async (t) => {
  assert.ok(report.requests.count >= REQUESTS, String(report.requests.count));
  const bytes = statSync(file).size;
  assert.ok(bytes < BYTES_MAX, `${bytes} bytes`);
  const [opened, beside] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    beside.push(await cpuSeconds(workBeside));
    opened.push(await cpuSeconds(open));
  }
  const [page, work] = [least(opened), least(beside)];
  const cost = page.seconds / work.seconds;
  const told = [
    `opening takes ${page.seconds.toFixed(3)} s of CPU`,
    `the work beside it ${work.seconds.toFixed(3)} s`,
    `${page.answer} elements`,
    `${bytes} bytes`,
  ].join(', ');
  t.diagnostic(told);
  assert.ok(page.answer < ELEMENTS_MAX, told);
  assert.ok(cost < COST_MAX, `${cost.toFixed(2)} times: ${told}`);
});
