/** A loop that was not let run: who paid for that, in a drawn recording and in a real one. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { drawRecording } from '../../../workloads/harness/drawings.mjs';
import { makeFolder } from '../../bobtail/test/cli/run-bobtail.mjs';
import { assertAccessible, browserBeside, textsOf } from './browser.mjs';
import { NODE, pageOf, recordingHome, recordService } from './shop.mjs';

const require = createRequire(import.meta.url);
const sentences = require('../../bobtail/dist/cli/report/sentences.js');
const units = require('../../bobtail/dist/cli/text/units.js');
const THROTTLED = new URL('../../../workloads/throttled/server.cjs', import.meta.url).pathname;
const PLACE = 'descheduled or throttled';

const home = recordingHome();
const browser = browserBeside(home);

/** Of eight, four requests wait behind one that is not run for 60 of its 80 ms. */
function scene() {
  const lines = ['-1ms open 1 server', '-1ms open 2 server'];
  for (let turn = 0; turn < 4; turn += 1) {
    const at = turn * 1000;
    lines.push(
      `${at}ms begin read handle=1 ready=${at}ms`,
      `source ${2 * turn + 1} "GET%20/computes"`,
      `${at + 70}ms not-running for=60ms`,
      `${at + 80}ms sink ${2 * turn + 1} 200`,
      'end',
      `${at + 80}ms begin read handle=2 ready=${at + 5}ms`,
      `source ${2 * turn + 2} "GET%20/waits"`,
      `${at + 85}ms sink ${2 * turn + 2} 200`,
      'end',
    );
  }
  return lines.join('\n');
}

/** The row of not having run, with its victims. */
async function throttledRow(page) {
  const row = page.locator('.culprits tbody tr', { hasText: PLACE });
  assert.equal(await row.count(), 1);
  const [cost] = await row.locator('.with-bar').allInnerTexts();
  const victims = await row.locator('.victims li').allInnerTexts();
  return { row, cost: cost.trim(), victims: victims.map((text) => text.replace(/\s+/g, ' ')) };
}

test('who paid for 60 ms of not running is told to the nanosecond', async (t) => {
  const folder = drawRecording(home.folder, 'throttled', scene());
  const { file, report } = await pageOf(folder, '--tail', '50');
  assert.equal(report.tail.count, 8);
  const culprit = report.culprits.find(({ kind }) => kind === 'cpu');
  // Four times 60 ms in the exec of one route and in the queue of the other.
  assert.equal(culprit.inflictedNs, 4 * 120e6);
  const page = await browser.open(t, file);
  const { row, cost, victims } = await throttledRow(page);
  assert.equal(cost, '60.0 ms');
  assert.deepEqual(victims.sort(), ['GET /computes 30.0 ms 50 %', 'GET /waits 30.0 ms 50 %']);
  assert.equal(await row.locator('td').nth(1).innerText(), sentences.culpritCounts(culprit));
  await row.getByRole('button', { name: 'GET /waits' }).click();
  await page.waitForURL(/route=GET/);
  const own = await throttledRow(page);
  assert.deepEqual([own.cost, own.victims], ['60.0 ms', ['GET /waits 60.0 ms 100 %']]);
  await page.locator('.requests tbody a').first().click();
  const cause = await page.locator('.cause').innerText();
  assert.match(cause, /not running/);
  assert.match(cause, /ready, but the loop thread got no processor/);
  assert.equal(await page.locator('.timeline .fill-cpu').count(), 1);
  await assertAccessible(page);
});

test('a service that gets less CPU than it wants, recorded with --not-running', async (t) => {
  const folder = await recordService(t, [NODE, '--single-threaded', THROTTLED], {
    cwd: makeFolder(t),
    flags: ['--not-running'],
    count: 12,
    connections: 3,
    path: () => '/compute',
  });
  const { file, report } = await pageOf(folder, '--tail', '50');
  assert.deepEqual(
    report.unavailable.filter(({ mechanism }) => mechanism === 'time not running'),
    [],
  );
  const culprit = report.culprits.find(({ kind, type }) => kind === 'cpu' && type === 'preempted');
  assert.ok(culprit, JSON.stringify(report.culprits));
  const page = await browser.open(t, file);
  const { row, cost, victims } = await throttledRow(page);
  assert.equal(cost, units.formatDuration(culprit.inflictedNs / report.tail.count));
  assert.deepEqual(victims, [`GET /compute ${cost} 100 %`]);
  assert.equal(await row.locator('td').nth(1).innerText(), sentences.culpritCounts(culprit));
  const [tail] = report.breakdown.filter(
    ({ class: cls, route }) => cls === 'tail' && route === '*',
  );
  const work = await textsOf(page, '.work tbody tr');
  const told = units.formatDuration(tail.work.notRunningNs);
  const line = work.find((text) => text.startsWith('not running'));
  assert.ok(line?.includes(told), `${told} in ${work.join('\n')}`);
});
