/** Pages of other recordings: hostile names, clusters, worker threads, losses, few requests. */
import assert from 'node:assert/strict';
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { buildSync } from 'esbuild';
import { get, load } from '../../bobtail/test/cli/load.mjs';
import { fixture, startRecording } from '../../bobtail/test/cli/recordings.mjs';
import { makeFolder, runBobtail } from '../../bobtail/test/cli/run-bobtail.mjs';
import { assertComposition, browserBeside, textsOf } from './browser.mjs';
import { mixed, NODE, pageOf, recordingHome, recordService, SHOP } from './shop.mjs';

const require = createRequire(import.meta.url);
const { headline, noteLines, trustParts } = require('../../bobtail/dist/cli/report/sentences.js');
const units = require('../../bobtail/dist/cli/text/units.js');

const home = recordingHome();
const browser = browserBeside(home);

const HOSTILE = [
  '/<script>alert(1)</script>',
  '/"><img/src=x/onerror=alert(2)>',
  "/';alert(3);//",
  '/</script><script>alert(4)</script>',
  '/<!--<script>',
  '/javascript:alert(5)',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a client may send it
  '/${alert(6)}',
  '/a&lt;b&amp;c',
  `/${'long'.repeat(400)}`,
];

test('whatever a client put into its URL is shown as text and never runs', async (t) => {
  const cwd = makeFolder(t);
  const count = HOSTILE.length * 12;
  const path = (n) => HOSTILE[n % HOSTILE.length];
  const { file, report } = await pageOf(await recordService(t, [NODE, SHOP], { count, path, cwd }));
  const text = readFileSync(file, 'utf8');
  assert.equal(text.match(/<script/g).length, 2, 'no tag but the two of the page');
  assert.equal(text.match(/<\/script/g).length, 2);
  const page = await browser.open(t, file);
  const shown = (await textsOf(page, '#made-of ~ div .composition')).join();
  await page.getByRole('button', { name: /^all \d+ rows/ }).click();
  const options = await page.locator('.filters select').first().locator('option').allTextContents();
  assert.ok(
    options.some((name) => name.includes('<script>alert(1)</script>')),
    options.join('\n'),
  );
  assert.ok(shown.length > 0 && report.breakdown.length > HOSTILE.length);
  await page.locator('.requests tbody a').first().click();
  await page.locator('.chosen').waitFor();
  assert.equal(await page.locator('img').count(), 0);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 1366, `${wide} wide`);
});

test('the policy of the page lets no injected script run, nor anything be fetched', async (t) => {
  const { file } = await pageOf(
    await recordService(t, [NODE, SHOP], { cwd: makeFolder(t), count: 40 }),
  );
  const page = await browser.open(t, file);
  const refused = await page.evaluate(async () => {
    const violated = [];
    document.addEventListener('securitypolicyviolation', (event) =>
      violated.push(event.effectiveDirective),
    );
    const image = document.createElement('img');
    image.src = 'https://example.invalid/x.png';
    document.body.append(image);
    await fetch('https://example.invalid/').catch(() => violated.push('fetch failed'));
    try {
      document.body.innerHTML = '<b>x</b>';
    } catch (error) {
      violated.push(error.name);
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
    return violated;
  });
  for (const expected of ['img-src', 'connect-src', 'fetch failed', 'TypeError']) {
    assert.ok(refused.includes(expected), `${expected} in ${refused}`);
  }
  // It was this test that asked, and the browser that refused.
  page.troubles.length = 0;
});

test('a cluster: every process, and each by itself', async (t) => {
  const cwd = makeFolder(t);
  const folder = await recordService(t, [NODE, fixture('cluster.cjs')], { cwd, count: 300 });
  const { file, report } = await pageOf(folder);
  assert.ok(report.processes.length >= 2);
  const page = await browser.open(t, file);
  const rows = await textsOf(page, '#processes ~ div .composition tbody');
  const names = [...new Set(report.processes.map(({ pid, thread }) => `${pid}-${thread}`))];
  assert.deepEqual(rows.map((text) => text.split(' ')[0]).sort(), names.sort());
  for (const { pid, thread, count, latencyNs } of report.processes) {
    const row = rows.find((text) => text.startsWith(`${pid}-${thread} `));
    assert.ok(row.includes(`${units.formatCount(count)} ${units.formatDuration(latencyNs)}`), row);
  }
  const [name] = names;
  await page.locator('.filters select').nth(1).selectOption({ label: name });
  await page.waitForURL(new RegExp(`#process=${name}$`));
  const own = report.processes.filter(({ pid, thread }) => `${pid}-${thread}` === name);
  const [all] = await textsOf(page, '#made-of ~ div .composition tbody');
  for (const { latencyNs } of own) assert.ok(all.includes(units.formatDuration(latencyNs)), all);
  const ids = await textsOf(page, '.requests tbody a');
  assert.ok(ids.length > 0 && ids.every((id) => id.startsWith(`${name}:`)), ids.join());
});

test('worker threads: their answers are told as the main thread has them', async (t) => {
  const cwd = makeFolder(t);
  const command = [NODE, fixture('threads.cjs'), 'pool'];
  const { file, report } = await pageOf(await recordService(t, command, { cwd, count: 200 }));
  const page = await browser.open(t, file);
  assert.deepEqual(await textsOf(page, 'h1'), [headline(report)]);
  const waits = await textsOf(page, '.waits tbody th');
  assert.ok(
    waits.some((text) => text.startsWith('worker')),
    waits.join(),
  );
});

test('worker threads that serve: the figures of one are those of its rows', async (t) => {
  const cwd = makeFolder(t);
  const service = await startRecording(t, [NODE, fixture('threads.cjs'), 'servers'], { cwd });
  const [, second] = /second (\d+)/.exec(await service.until('listening'));
  const served = { 1: 0, 2: 0 };
  for (let n = 0; n < 40; n += 1) served[await get(n % 4 === 0 ? service.port : second, '/')] += 1;
  await service.end();
  assert.deepEqual(Object.values(served).sort(), [10, 30]);
  const { file, report } = await pageOf(service.folder);
  const page = await browser.open(t, file);
  for (const thread of [1, 2]) {
    const rows = report.processes.filter((row) => row.thread === thread);
    const count = rows.reduce((sum, row) => sum + row.count, 0);
    assert.equal(count, served[thread]);
    const name = `${rows[0].pid}-${thread}`;
    await page.locator('.filters select').nth(1).selectOption({ label: name });
    await page.waitForURL(new RegExp(`#process=${name}$`));
    await assertComposition(page, '#made-of', rows);
    const title = await page.locator('svg[role=img] title').first().textContent();
    assert.ok(title.startsWith(`Latency of ${count} requests`), title);
    const more = page.getByRole('button', { name: /^all \d+ requests$/ });
    if ((await more.count()) > 0) await more.click();
    const ids = await textsOf(page, '.requests tbody a');
    assert.equal(ids.length, count);
    assert.ok(
      ids.every((id) => id.startsWith(`${name}:`)),
      ids.join(),
    );
  }
});

test('losses are told', async (t) => {
  const cwd = makeFolder(t);
  const folder = await recordService(t, [NODE, SHOP], { cwd, count: 300 });
  damage(folder);
  const { file, report } = await pageOf(folder);
  assert.ok(report.losses.damaged > 0, JSON.stringify(report.losses));
  const page = await browser.open(t, file);
  const trust = await page.locator('section[aria-labelledby=trust]').innerText();
  for (const part of trustParts(report)) assert.ok(trust.includes(part), `${part} in ${trust}`);
  const told = `${units.formatCount(report.losses.damaged)} damaged`;
  assert.ok((await textsOf(page, 'section[aria-labelledby=trust] li')).includes(told), trust);
});

/** Overwrites a few bytes among the last records of a trace. */
function damage(folder) {
  const trace = join(
    folder,
    readdirSync(folder).find((name) => name.endsWith('.trace')),
  );
  const bytes = readFileSync(trace);
  const isFull = (at) => bytes.subarray(at, at + 256).filter((byte) => byte !== 0).length > 128;
  let at = bytes.length - 512;
  while (!isFull(at)) at -= 64;
  bytes.fill(0xff, at - 512, at - 448);
  writeFileSync(trace, bytes);
}

test('a recording still being written says so, on the screen and in the terminal', async (t) => {
  const cwd = makeFolder(t);
  const recording = await startRecording(t, [NODE, SHOP], { cwd });
  await load(recording.port, { count: 60, connections: 4, path: mixed });
  const { file, report } = await pageOf(recording.folder);
  assert.equal(report.run.outcome, null);
  const [note] = noteLines(report);
  assert.match(note, /^still being recorded, or the recorder was killed: /);
  const page = await browser.open(t, file);
  assert.equal((await textsOf(page, 'header .note'))[0], note);
  assert.ok(await page.locator('header .note').first().isVisible());
  const told = await runBobtail(['report', recording.folder]);
  assert.equal(told.stdout.split('\n')[2], note);
  await recording.end();
  const whole = await pageOf(recording.folder);
  const ended = await browser.open(t, whole.file);
  const text = await ended.locator('body').innerText();
  assert.ok(!text.includes('still being recorded'), 'it has ended');
});

test('three requests make a page that says they are too few', async (t) => {
  const cwd = makeFolder(t);
  const { file, report } = await pageOf(
    await recordService(t, [NODE, SHOP], { cwd, count: 3, path: () => '/' }),
  );
  const page = await browser.open(t, file);
  assert.deepEqual(await textsOf(page, 'h1'), [headline(report)]);
  assert.deepEqual(await textsOf(page, '.note'), [report.tail.note]);
  assert.equal(await page.locator('.requests tbody tr').count(), 3);
  await page.locator('.requests tbody a').last().click();
  await page.locator('.chosen .timeline').waitFor();
});

/** A service in one line of a bundle, and where its hog is in the source. */
function bundled(cwd) {
  const source = join(cwd, 'src/hog.ts');
  mkdirSync(join(cwd, 'src'));
  writeFileSync(
    source,
    `import { createServer } from 'node:http';
function plantedHog(until: number): void {
  while (performance.now() < until);
}
const server = createServer((request, response) => {
  if (request.url === '/hog') plantedHog(performance.now() + 30);
  response.end();
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number };
  process.stdout.write(\`listening \${port} pid \${process.pid}\\n\`);
});
`,
  );
  const outfile = join(cwd, 'dist/service.js');
  const options = { minify: true, platform: 'node', format: 'cjs', sourcemap: true };
  buildSync({ entryPoints: [source], outfile, bundle: true, ...options });
  return { source, outfile };
}

test('a place is told in its source, beside where it ran, with notes on the map', async (t) => {
  const cwd = realpathSync(makeFolder(t));
  const { source, outfile } = bundled(cwd);
  const path = (n) => (n % 3 === 0 ? '/hog' : '/');
  const folder = await recordService(t, [NODE, outfile], { cwd, count: 60, path });
  appendFileSync(source, '// changed\n');
  const { file, report } = await pageOf(folder);
  const hog = report.culprits.find(({ generatedLocation }) => generatedLocation !== null);
  assert.ok(hog?.location.includes(source), JSON.stringify(report.culprits));
  assert.equal(report.notes.length, 1, report.notes.join());
  const page = await browser.open(t, file);
  const places = await textsOf(page, '.culprits .place');
  const told = `${hog.location} ran as ${hog.generatedLocation}`;
  assert.ok(places.includes(told), `${told} in ${places.join('\n')}`);
  assert.deepEqual(await textsOf(page, '.notes li'), report.notes);
  const titles = await textsOf(page, 'h3');
  assert.equal(titles.filter((title) => title === 'Source maps').length, 1, titles.join());
  await page.locator('.requests tbody a').first().click();
  const cause = (await page.locator('.cause').innerText()).replace(/\s+/g, ' ');
  assert.ok(cause.includes(`${source}:`) && cause.includes(` ran as `), cause);
  assert.ok(cause.includes(`${outfile}:1:`), cause);
});
