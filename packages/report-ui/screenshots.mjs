// Takes the screenshots of the docs anew: records the demo and two states of a shop, writes their
// pages, and photographs them. Look at each before it is committed.
//
//   node packages/report-ui/screenshots.mjs [--out docs/guide] [--look DIR]
//
// The recordings are kept in target/screenshots, and taken from there when they are; --look writes
// how the pages look in the other theme, on a phone and on paper.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { findChromium } from './chromium.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const bobtail = join(root, 'packages/bobtail/dist/cli/main.js');
const SHOP = 'packages/report-ui/test/fixtures/shop.cjs';
/** Milliseconds that one route of the shop takes: two states to compare. */
const SHOP_MS = { before: 0, after: 20 };
const GATES = ['p99.9<50ms', 'tail.gc<10%', 'losses=0', 'p99.99<1s'];
const SHOP_LOAD = ['--rate', '100', '--seconds', '12', '/=3', '/index=3', '/file=2', '/login=1'];

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: join(root, 'docs/guide') },
    look: { type: 'string' },
  },
});

/** Runs a command of Node in the root, which paths are told from; codes of gates are no failure. */
function node(...args) {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'ignore', 2] });
    child.once('error', fail);
    child.once('exit', (code) =>
      [0, 75, 76].includes(code) ? done() : fail(new Error(`${args.join(' ')}: ${code}`)),
    );
  });
}

const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

async function recordAll(folder) {
  const demo = join(folder, 'demo.bobtail');
  if (!existsSync(demo)) await node('workloads/demo/demo.mjs', demo);
  for (const [name, ms] of Object.entries(SHOP_MS)) {
    const out = join(folder, `${name}.bobtail`);
    if (existsSync(out)) continue;
    const load = [process.execPath, 'workloads/first-use/load.mjs', ...SHOP_LOAD];
    const flags = ['--quiet', '--no-report', '--no-html', '--out', out];
    const onPort = load.map(quoted).join(' ');
    const service = [process.execPath, SHOP, String(ms)];
    await node(bobtail, 'record', ...flags, '--on-port', onPort, '--', ...service);
  }
  const [a, b] = Object.keys(SHOP_MS).map((name) => join(folder, `${name}.bobtail`));
  return { demo, a, b };
}

/** Writes the pages beside the recordings. */
async function writePages(folder, { demo, a, b }) {
  const pages = { report: 'report.html', gates: 'gates.html', diff: 'diff.html' };
  for (const name of Object.keys(pages)) pages[name] = join(folder, pages[name]);
  await node(bobtail, 'report', demo, '--html', pages.report);
  const gates = GATES.flatMap((gate) => ['--fail-on', gate]);
  await node(bobtail, 'report', demo, '--html', pages.gates, ...gates);
  await node(bobtail, 'diff', a, b, '--html', pages.diff);
  return pages;
}

async function opened(browser, file, { width, height, ...context }) {
  const page = await browser.newPage({ viewport: { width, height }, ...context });
  await page.goto(pathToFileURL(file).href);
  await page.locator('h1').waitFor();
  return page;
}

/** Opens the slowest request. */
async function openSlowest(page) {
  await page.locator('.requests tbody a').first().click();
  await page.locator('.chosen .timeline').waitFor();
  await page.locator('h1').click();
  return page;
}

async function takeAll(browser, pages, out) {
  const first = await opened(browser, pages.report, { width: 1200, height: 900 });
  await first.screenshot({ path: join(out, 'report-first-screen.png') });
  const dark = { width: 1200, height: 1500, colorScheme: 'dark' };
  const request = await openSlowest(await opened(browser, pages.report, dark));
  // Else it would cover the beginning of what is higher than the window.
  await request.locator('.filters').evaluate((one) => one.remove());
  await request.locator('div.chosen').screenshot({ path: join(out, 'report-request.png') });
  const gates = await opened(browser, pages.gates, { width: 1366, height: 560 });
  await gates.screenshot({ path: join(out, 'report-gates.png') });
  const diff = await opened(browser, pages.diff, { width: 1366, height: 980 });
  // Where there are enough samples of each route.
  await diff.locator('.filters select').last().selectOption({ label: 'p50' });
  await diff.locator('h1').click();
  await diff.screenshot({ path: join(out, 'diff-page.png') });
}

async function lookAtAll(browser, pages, folder) {
  mkdirSync(folder, { recursive: true });
  for (const [name, file] of Object.entries(pages)) {
    const looks = {
      light: { width: 1366, height: 900 },
      dark: { width: 1366, height: 900, colorScheme: 'dark' },
      phone: { width: 360, height: 740 },
    };
    for (const [look, context] of Object.entries(looks)) {
      const page = await opened(browser, file, context);
      if (name === 'report') await openSlowest(page);
      await page.screenshot({ path: join(folder, `${name}-${look}.png`), fullPage: true });
      await page.close();
    }
    const page = await opened(browser, file, { width: 794, height: 1123 });
    await page.emulateMedia({ media: 'print' });
    await page.screenshot({ path: join(folder, `${name}-print.png`), fullPage: true });
    await page.pdf({ path: join(folder, `${name}.pdf`), format: 'A4' });
    await page.close();
  }
}

// Below the root: the pages tell the recordings as from there.
const folder = join(root, 'target/screenshots');
mkdirSync(folder, { recursive: true });
const pages = await writePages(folder, await recordAll(folder));
const browser = await chromium.launch({ executablePath: findChromium() });
try {
  await takeAll(browser, pages, resolve(values.out));
  if (values.look !== undefined) await lookAtAll(browser, pages, resolve(values.look));
} finally {
  await browser.close();
}
