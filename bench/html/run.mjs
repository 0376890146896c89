// Measures the HTML report for recordings of rising length: how long it takes to write, how large
// the file is, how much memory writing takes, and how long Chromium takes from opening it until
// everything is drawn. None of the last three may rise with the recording.
//
// The traces are grown (crates/breakdown/examples/grow_recording.rs), not recorded.
//
//   node bench/html/run.mjs [--requests 1000,100000] [--rounds 5] [--grown DIR] [--out DIR]
//
// --grown keeps the recordings there, or takes those that are, so that a busy machine can grow them
// (--rounds 0) and a quiet one measure. Runs of several sizes with one --out add up.
// The first page that a browser opens is not counted: it starts the browser's processes.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { findChromium } from '../../packages/report-ui/chromium.mjs';
import { hostText } from '../harness/host.mjs';
import { quartiles } from '../harness/statistics.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const main = join(root, 'packages/bobtail/dist/cli/main.js');
const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '1000,10000,100000,1000000' },
    rounds: { type: 'string', default: '5' },
    grown: { type: 'string' },
    out: { type: 'string' },
  },
});
const ROUNDS = Number(values.rounds);
const EXAMPLE = ['-p', 'bobtail-breakdown', '--example', 'grow_recording'];
/** Grown first, to learn how many events a request has. */
const EVENTS_TRIED = 200_000;

function run(command, args) {
  const stdio = ['ignore', 'pipe', 'inherit'];
  return execFileSync(command, args, { cwd: root, stdio, encoding: 'utf8', maxBuffer: 1e9 });
}

function grow(events, folder) {
  if (!existsSync(folder)) {
    run('cargo', ['run', '--release', '--quiet', ...EXAMPLE, '--', String(events), folder]);
  }
  return JSON.parse(run(process.execPath, [main, 'report', folder, '--json'])).requests.count;
}

/** Peak of resident memory, which a process knows of itself when it ends. */
const TELL_PEAK =
  'process.on("exit", () => console.error("peak " + process.resourceUsage().maxRSS))';

/** Writes the page as a user does; the time and memory of that process. */
function write(folder, file) {
  const startMs = performance.now();
  const told = ['--import', `data:text/javascript,${encodeURIComponent(TELL_PEAK)}`];
  const run = spawnSync(process.execPath, [...told, main, 'report', folder, '--html', file], {
    encoding: 'utf8',
    maxBuffer: 1e9,
  });
  if (run.status !== 0) throw new Error(run.stderr);
  const peakKib = Number(/^peak (\d+)$/m.exec(run.stderr)[1]);
  return { writeMs: performance.now() - startMs, peakMib: peakKib / 1024 };
}

/** Time from the start of the navigation until the page is drawn and laid out. */
async function open(browser, file) {
  const page = await browser.newPage({ viewport: { width: 1366, height: 900 } });
  await page.goto(pathToFileURL(file).href, { waitUntil: 'load', timeout: 0 });
  const drawnMs = await page.evaluate(
    () =>
      new Promise((resolve) => {
        requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
      }),
  );
  const { scriptMs, paintMs } = await page.evaluate(() => {
    const [navigation] = performance.getEntriesByType('navigation');
    const paint = performance.getEntriesByName('first-contentful-paint')[0];
    return {
      scriptMs: navigation.domContentLoadedEventEnd - navigation.responseEnd,
      paintMs: paint?.startTime ?? 0,
    };
  });
  await page.close();
  return { drawnMs, scriptMs, paintMs };
}

const scratch = mkdtempSync(join(tmpdir(), 'bobtail-html-'));
const grown = values.grown ?? join(scratch, 'grown');
mkdirSync(grown, { recursive: true });
const browser = await chromium.launch({ executablePath: findChromium() });
const rows = [];
try {
  const tried = join(grown, 'tried');
  const eventsPerRequest = EVENTS_TRIED / grow(EVENTS_TRIED, tried);
  const first = join(scratch, 'first.html');
  write(tried, first);
  await open(browser, first);
  for (const wanted of values.requests.split(',').map(Number)) {
    const folder = join(grown, String(wanted));
    const requests = grow(Math.ceil(wanted * eventsPerRequest), folder);
    const file = join(scratch, `${wanted}.html`);
    for (let round = 0; round < ROUNDS; round += 1) {
      const written = write(folder, file);
      const took = await open(browser, file);
      rows.push({ requests, round, bytes: statSync(file).size, ...written, ...took });
    }
  }
} finally {
  await browser.close();
  rmSync(scratch, { recursive: true, force: true });
}

const csvFile = values.out === undefined ? undefined : join(values.out, 'html.csv');
if (csvFile !== undefined && existsSync(csvFile)) rows.unshift(...readRows(csvFile));

/** Rows of a run before this one. */
function readRows(file) {
  const [header, ...lines] = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(','));
  return lines.map((cells) => Object.fromEntries(header.map((key, i) => [key, Number(cells[i])])));
}

const median = (name, requests) =>
  quartiles(rows.filter((row) => row.requests === requests).map((row) => row[name])).median;
const lines = [...new Set(rows.map(({ requests }) => requests))].map((requests) => {
  const ms = (name) => `${Math.round(median(name, requests))} ms`;
  const kib = `${Math.round(median('bytes', requests) / 1024)} KiB`;
  const mib = `${Math.round(median('peakMib', requests))} MiB`;
  const cells = [requests, kib, ms('writeMs'), mib, ms('paintMs'), ms('drawnMs')];
  return `| ${cells.join(' | ')} |`;
});
const table = [
  '| requests | file | written in | memory | first paint after | drawn after |',
  '|---|---|---|---|---|---|',
  ...lines,
].join('\n');
process.stdout.write(`${table}\n`);
if (csvFile !== undefined && rows.length > 0) {
  mkdirSync(values.out, { recursive: true });
  const header = Object.keys(rows[0]);
  const csv = [header, ...rows.map((row) => header.map((key) => row[key]))].map(String).join('\n');
  const host = `${hostText()}, ${browser.version()}`;
  writeFileSync(csvFile, `${csv}\n`);
  writeFileSync(
    join(values.out, 'html.md'),
    `${host}, medians; how many rounds of each: html.csv\n\n${table}\n`,
  );
}
