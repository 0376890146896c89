/**
 * What the page says of its own shortcomings: deduced hops, lost history, what was not measured.
 *
 * Drawn, since a healthy recording has none of them, and a test of one would pass without a word.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { drawRecording } from '../../../workloads/harness/drawings.mjs';
import { assertAccessible, browserBeside, textsOf } from './browser.mjs';
import { explained, pageOf, recordingHome } from './shop.mjs';

const require = createRequire(import.meta.url);
const { trustParts } = require('../../bobtail/dist/cli/report/sentences.js');
const units = require('../../bobtail/dist/cli/text/units.js');

const TRUNCATED = '1-0:1';
const INFERRED = '1-0:3';
const WHOLE = '1-0:4';

// Events are lost amid the first request; the second and the third write to one socket before it
// answers either; the fourth is observed as a whole.
const SCENE = `
-1ms open 1 server
-1ms open 2 client "db:5432"
-1ms open 3 server
0ms  begin #1 read handle=1 ready=0ms
     source 1 "GET%20/gap"
     register pool op=1 "fs.stat"
1ms  end
     loss no-chunk count=5 events=5
19ms begin #7 pool op=1 ready=18ms run=1ms
20ms sink 1 200
     end
30ms begin #8 read handle=1 ready=30ms
     source 2 "GET%20/one"
     write 2
31ms end
32ms begin #9 read handle=3 ready=32ms
     source 3 "GET%20/two"
     write 2
     end
38ms begin #10 read handle=2 ready=38ms
39ms sink 3 200
     end
40ms begin #11 read handle=3 ready=40ms
     source 4 "GET%20/whole"
42ms sink 4 200
     end
`;

const home = recordingHome();
const browser = browserBeside(home);

const trustOf = (page, selector) => textsOf(page, `section[aria-labelledby=trust] ${selector}`);

/** What the page says of each request of its list besides its id. */
async function marksOf(page) {
  const cells = await textsOf(page, '.requests tbody td:last-child');
  return Object.fromEntries(cells.map((text) => text.split(/ (.*)/)));
}

/** Opens a request; the line of facts below its title. */
async function factsOf(page, id) {
  await page.locator('.requests').getByRole('link', { name: id, exact: true }).click();
  await page.locator('.chosen p', { hasText: `request ${id} ` }).waitFor();
  return (await textsOf(page, '.chosen p.count'))[0];
}

test('a deduced hop and a lost history are counted, and marked on their requests', async (t) => {
  const folder = drawRecording(home.folder, 'doubtful', SCENE);
  const { file, report } = await pageOf(folder, '--tail', '50');
  const { count, complete, inferred, truncated, unfinished } = report.requests;
  assert.deepEqual([count, complete, inferred, truncated, unfinished], [3, 2, 1, 1, 1]);
  assert.deepEqual(report.losses, { 'no-chunk': 5 });
  const page = await browser.open(t, file);
  const names = await trustOf(page, '.facts dt');
  const values = await trustOf(page, '.facts dd');
  const facts = Object.fromEntries(names.map((name, index) => [name, values[index]]));
  assert.equal(facts.complete, units.countOf(complete, 'request'));
  assert.equal(facts['with inferred hops'], units.formatCount(inferred));
  assert.equal(facts.truncated, units.formatCount(truncated));
  assert.equal(facts.unfinished, units.formatCount(unfinished));
  assert.equal((await trustOf(page, 'p'))[0], trustParts(report).join(' · '));
  assert.ok((await trustOf(page, 'li')).includes('5 no-chunk'));
  assert.deepEqual(await marksOf(page), {
    [TRUNCATED]: 'truncated',
    [INFERRED]: 'inferred hops',
    [WHOLE]: undefined,
  });
  await assertAccessible(page);
});

test('the view of a request says what of it was deduced or lost', async (t) => {
  const folder = drawRecording(home.folder, 'viewed', SCENE);
  const { file } = await pageOf(folder, '--tail', '50');
  const page = await browser.open(t, file);
  const shown = {};
  for (const id of [TRUNCATED, INFERRED, WHOLE]) {
    const { inferredHops, truncated, segments } = await explained(folder, id);
    const facts = await factsOf(page, id);
    assert.equal(facts.includes('truncated: a part of its history was lost'), truncated, facts);
    assert.equal(facts.includes(' inferred'), inferredHops > 0, facts);
    await page.getByText(/^All \d+ segments? as a table$/).click();
    shown[id] = await textsOf(page, '.segments .chip');
    const marks = shown[id].map((chip) => chip.endsWith(' inferred'));
    assert.deepEqual(
      marks,
      segments.map((one) => one.inferred),
    );
    const longest = segments.reduce((a, b) => (b.durationNs > a.durationNs ? b : a));
    const [cause] = await textsOf(page, '.cause');
    assert.equal(cause.includes('the hop to it was deduced, not observed'), longest.inferred);
    if (inferredHops > 0) {
      assert.ok(facts.includes(`${units.countOf(inferredHops, 'hop')} inferred`), facts);
    }
  }
  assert.deepEqual(shown, {
    [TRUNCATED]: ['unattributed ~19.0 ms', 'exec 1.00 ms'],
    [INFERRED]: ['io ~6.00 ms inferred', 'exec ~1.00 ms inferred'],
    [WHOLE]: ['exec 2.00 ms'],
  });
});

/** Rewrites what the agent of a drawn recording says of its mechanisms. */
function deny(folder, reasons) {
  const file = join(folder, 'process-1-0.json');
  const { mechanisms, ...facts } = JSON.parse(readFileSync(file, 'utf8'));
  const kept = mechanisms.filter(({ name }) => reasons[name] === undefined);
  const denied = Object.entries(reasons).map(([name, reason]) => ({ name, ok: false, reason }));
  writeFileSync(file, JSON.stringify({ ...facts, mechanisms: [...kept, ...denied] }));
}

test('what was not measured is named with its reason, and what was not asked for', async (t) => {
  const reasons = {
    jit: 'no <b>Compiler::Compile</b> in this node & none like it',
    'time not running': 'not asked for (--not-running)',
  };
  const folder = drawRecording(home.folder, 'denied', SCENE);
  deny(folder, reasons);
  const { file, report } = await pageOf(folder, '--tail', '50');
  const expected = Object.entries(reasons).map(([mechanism, reason]) => ({ mechanism, reason }));
  assert.deepEqual(report.unavailable, expected);
  const page = await browser.open(t, file);
  const list = 'h3:text-is("Not measured here") + ul li';
  const told = [`jit ${reasons.jit}`, 'time not running not asked for'];
  assert.deepEqual(await trustOf(page, list), told);
  const [sentence] = await trustOf(page, 'p');
  assert.equal(sentence, trustParts(report).join(' · '));
  assert.ok(sentence.endsWith(' · unavailable here: jit'), sentence);
  const measured = await pageOf(drawRecording(home.folder, 'measured', SCENE), '--tail', '50');
  assert.deepEqual(measured.report.unavailable, []);
  const other = await browser.open(t, measured.file);
  assert.ok((await trustOf(other, 'p')).includes('Everything was measured.'));
  assert.equal(await other.locator(`section[aria-labelledby=trust] ${list}`).count(), 0);
});
