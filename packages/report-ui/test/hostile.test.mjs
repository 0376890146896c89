/**
 * Names that somebody else chose do nothing but stand there: in routes, code, files and hosts, of a
 * real recording and of a drawn one, which can hold what no server would let through.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { drawRecording } from '../../../workloads/harness/drawings.mjs';
import { startRecording } from '../../bobtail/test/cli/recordings.mjs';
import { makeFolder, runBobtail } from '../../bobtail/test/cli/run-bobtail.mjs';
import { assertAccessible, browserBeside } from './browser.mjs';
import { NODE, pageOf, recordingHome } from './shop.mjs';

const { plain } = createRequire(import.meta.url)('../../bobtail/dist/cli/text/plain.js');
const SERVICE = new URL('./fixtures/hostile.cjs', import.meta.url).pathname;
/** Files below the folder that is served from may not have slashes in their names. */
const NAMES = [
  '<script>alert(1)</script>',
  '</script><script>alert(2)</script>',
  '"><img src=x onerror=alert(3)>',
  "';alert(4);//",
  '<!--<script>',
  '\u2028alert(5)\u2029',
  '\u202egnp.exe\u2066\u200f',
  'a\0b\x1b[31mred\r\n\x9b',
  '@@BOBTAIL-DATA@@ $& $` \\u003c/script>',
  'שלום עולם',
  `long${'x'.repeat(3000)}`,
];
const VIEWPORTS = [
  { width: 1366, height: 900 },
  { width: 360, height: 740 },
];
const LONE = 'lone \ud800 surrogate';
// biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may be shown
const HARMFUL = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]/;

const home = recordingHome();
const browser = browserBeside(home);

/** The file has no tag but its own, and on no screen does a name do anything. */
async function assertHarmless(t, folder, file, names) {
  const text = readFileSync(file, 'utf8');
  assert.equal(text.match(/<script/gi).length, 2, 'no tag but the two of the page');
  assert.equal(text.match(/<\/script/gi).length, 2);
  assert.equal(text.match(/<!--/g), null);
  for (const viewport of VIEWPORTS) {
    const page = await browser.open(t, file, { viewport });
    const more = page.getByRole('button', { name: /^all \d+ / });
    while ((await more.count()) > 0) await more.first().click();
    const links = page.locator('.requests tbody a');
    for (let index = 0; index < Math.min(2, await links.count()); index += 1) {
      await links.nth(index).click();
      await page.locator('.chosen .timeline').waitFor();
    }
    for (const details of await page.locator('details').all()) {
      await details.evaluate((one) => {
        one.open = true;
      });
    }
    const seen = await page.evaluate(() => ({
      text: document.body.innerText,
      all: document.body.textContent,
      titles: [...document.querySelectorAll('[title]')].map((one) => one.title).join('\n'),
      tags: document.querySelectorAll('script, img, iframe, object, embed, link, base').length,
      title: document.title,
      wide: document.documentElement.scrollWidth,
    }));
    assert.equal(seen.tags, 2);
    assert.equal(seen.title, 'Bobtail report');
    assert.ok(seen.wide <= viewport.width, `${seen.wide} wide`);
    // The data is text of the document, too, but not of the page.
    const shown = await page.locator('#page').evaluate((one) => one.textContent);
    for (const told of [seen.text, seen.titles, shown]) {
      const found = HARMFUL.exec(told);
      assert.equal(found, null, `${JSON.stringify(told.slice((found?.index ?? 0) - 40))}`);
    }
    const squeezed = (one) => one.replace(/\s+/g, ' ').trim();
    const pageText = squeezed(shown);
    for (const name of names) assert.ok(pageText.includes(squeezed(plain(name))), name);
    if (viewport === VIEWPORTS[0]) await assertAccessible(page);
  }
  const { stdout } = await runBobtail(['report', folder]);
  assert.equal(HARMFUL.exec(stdout), null, JSON.stringify(stdout));
}

/** Asks for a path as it is, which `http.get` refuses to send. */
function ask(port, path, headers) {
  return new Promise((done, fail) => {
    const options = { host: '127.0.0.1', port, path: '/', headers, agent: false };
    const request = http.request(options, (response) => {
      response.resume().on('end', done).on('error', fail);
    });
    request.path = path;
    request.on('error', fail).end();
  });
}

test('names of functions, files, headers and URLs in a real recording', async (t) => {
  const cwd = makeFolder(t);
  const names = [...NAMES, LONE];
  const command = [NODE, SERVICE, JSON.stringify(names)];
  const recording = await startRecording(t, command, { cwd });
  const paths = NAMES.map((name) => `/${encodeURI(name).replace(/%(3C|3E|22|60)/g, unescape)}`);
  for (let round = 0; round < 2; round += 1) {
    for (const [index, name] of names.entries()) {
      const path = paths[index] ?? '/lone';
      const file = Buffer.from(plain(name)).toString('latin1');
      await Promise.all([
        ask(recording.port, path, { 'x-method': String(index) }),
        ask(recording.port, '/file', { 'x-file': file.slice(0, 200) }),
      ]);
    }
  }
  await recording.end();
  const { file, report } = await pageOf(recording.folder, '--tail', '50');
  const told = JSON.stringify([report.culprits, report.io]);
  assert.ok(told.includes('<img src=x onerror=alert(3)>'), 'a name of code or of a file');
  const routes = ['GET /<script>alert(1)</script>', 'GET /"><img'];
  await assertHarmless(t, recording.folder, file, routes);
});

/** A drawing in which every text is hostile: routes, functions, files and resources. */
function hostileScene() {
  const lines = ['-1ms open 1 server', '-1ms open 2 server'];
  for (const [index, name] of NAMES.entries()) {
    const text = encodeURIComponent(name).replaceAll("'", '%27');
    const [number, at] = [2 * index + 1, index * 100];
    lines.push(
      `${at}ms begin read handle=1 ready=${at}ms`,
      `source ${number} "GET%20/${text}"`,
      `at "${text} ${text}:7:3"`,
      `${at + 2}ms register pool op=${number} "fs.open%20${text}"`,
      `${at + 30}ms end`,
      `${at + 30}ms begin read handle=2 ready=${at + 1}ms`,
      `source ${number + 1} "POST%20/${text}"`,
      `at "${text} ${text}:9:1"`,
      `${at + 50}ms sink ${number + 1} 200 "POST%20/${text}"`,
      'end',
      `${at + 50}ms begin pool op=${number} ready=${at + 20}ms run=10ms`,
      `${at + 60}ms sink ${number} 200`,
      'end',
    );
  }
  return lines.join('\n');
}

test('names of everything in a drawn recording', async (t) => {
  const folder = drawRecording(home.folder, 'hostile', hostileScene());
  const { file } = await pageOf(folder, '--tail', '50');
  const shown = NAMES.filter((name) => name.length < 100);
  await assertHarmless(
    t,
    folder,
    file,
    shown.map((name) => `GET /${name}`),
  );
});
