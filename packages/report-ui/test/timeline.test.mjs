/** Each lane of the timeline shows what happened: as it was drawn, and as `explain --json` says. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { before, test } from 'node:test';
import { drawRecording } from '../../../workloads/harness/drawings.mjs';
import { browserBeside, textsOf } from './browser.mjs';
import { NODE, pageOf, recordingHome, recordService } from './shop.mjs';
import { assertBoxes, drawnTimeline, durationOf, laneOf } from './timeline.mjs';

const require = createRequire(import.meta.url);
const { explainMany } = require('../../bobtail/dist/index.js');
const units = require('../../bobtail/dist/cli/text/units.js');

const PLANTED = new URL('./fixtures/planted.cjs', import.meta.url).pathname;
const ROUTES = ['/gc', '/pool', '/ic', '/compile', '/'];
const home = recordingHome();
const browser = browserBeside(home);
let planted;

before(async () => {
  const folder = await recordService(home, [NODE, '--expose-gc', PLANTED], {
    count: 60,
    connections: 1,
    path: (n) => ROUTES[n % ROUTES.length],
  });
  planted = { folder, file: (await pageOf(folder)).file };
  planted.explanations = await explainMany(folder, { all: true });
});

const ms = (beginMs, endMs, more = {}) => ({ beginNs: beginMs * 1e6, endNs: endMs * 1e6, ...more });

/** Three requests at once: each lane has something, and nothing is nearer than a pixel. */
const SCENE = `
  -20ms open 1 server
  -20ms open 2 server
  -20ms open 3 server
  -20ms poll for=10ms
  -10ms begin #1 other
  -1ms  end
  0ms   begin #2 read handle=1 ready=0ms
        source 1 "GET%20/slow"
        at "slow /srv/slow.js:7"
  1ms   register pool op=1 "fs.read%20/data"
  1.2ms register pool op=2 "fs.read%20/more"
  2ms   end
  2ms   begin #3 read handle=2 ready=1ms
        source 2 "GET%20/blocks"
        at "block /srv/block.js:3"
  4ms   gc mark for=3ms
  9ms   work span=1ms jit=500us ic=250us
  9.5ms sink 2 200
  10ms  end
  10ms  begin #4 read handle=3 ready=3ms
        source 3 "GET%20/third"
  10.5ms gc scavenge for=500us
  12ms  sink 3 200
        end
  12ms  begin #5 pool op=2 ready=8ms run=4ms
  13ms  end
  13ms  begin #6 pool op=1 ready=6ms run=4ms
  15ms  work span=1ms ic=800us
  16ms  not-running for=500us
  18ms  sink 1 200
        end
`;

/** What of it the timeline of the slow one must show. */
const SHOWN = {
  runs: [
    ms(-1.8, -1, { own: false, title: 'other 800 µs' }),
    ms(0, 2, { own: true, title: 'GET /slow slow /srv/slow.js:7 2.00 ms' }),
    ms(2, 10, { own: false, title: 'GET /blocks block /srv/block.js:3 8.00 ms' }),
    ms(10, 12, { own: false, title: 'GET /third read 2.00 ms' }),
    ms(12, 13, { own: true, title: 'GET /slow pool 1.00 ms' }),
    ms(13, 18, { own: true, title: 'GET /slow pool 5.00 ms' }),
  ],
  interruptions: [
    ms(4, 7, { classes: 'fill-gc', title: 'mark-compact 3.00 ms' }),
    ms(8, 9, { classes: 'fill-jit', title: 'compilation 500 µs' }),
    ms(8, 9, { classes: 'fill-ic', title: 'inline-cache misses 250 µs' }),
    ms(10.5, 11, { classes: 'fill-gc', title: 'scavenge 500 µs' }),
    ms(14, 15, { classes: 'fill-ic', title: 'inline-cache misses 800 µs' }),
    ms(15.5, 16, { classes: 'fill-cpu', title: 'not running: descheduled or throttled 500 µs' }),
  ],
  jobs: [
    ms(2, 6, { title: 'fs.read /data 4.00 ms GET /slow' }),
    ms(4, 8, { title: 'fs.read /more 4.00 ms GET /slow' }),
  ],
  path: [
    ms(0, 1, { classes: 'exec', lane: 'loop' }),
    ms(1, 2, { classes: 'io', lane: 'pool' }),
    ms(2, 6, { classes: 'io', lane: 'pool' }),
    ms(6, 13, { classes: 'queue', lane: 'waiting' }),
    ms(13, 18, { classes: 'exec', lane: 'loop' }),
  ],
  waiting: [
    [1e6, 1],
    [2e6, 0],
    [3e6, 1],
    [6e6, 2],
    [8e6, 3],
    [10e6, 2],
    [12e6, 1],
    [13e6, 0],
  ],
};

/** Opens a request of a page; `id` must be in the file. */
async function openRequest(t, file, id) {
  const page = await browser.open(t, file, { fragment: `#request=${id}` });
  await page.locator('.chosen .timeline').waitFor();
  return page;
}

test('every lane of a drawn recording is as it was drawn', async (t) => {
  const folder = drawRecording(home.folder, 'drawn', SCENE);
  const { file } = await pageOf(folder, '--tail', '50');
  const page = await openRequest(t, file, '1-0:1');
  const drawn = await drawnTimeline(page);
  for (const lane of ['runs', 'interruptions', 'jobs']) {
    assertBoxes(drawn[lane], SHOWN[lane], drawn, lane);
  }
  const path = drawn.path.map((box) => ({ ...box, lane: laneOf(drawn, box) }));
  assertBoxes(path, SHOWN.path, drawn, 'path', 'path');
  assert.equal(drawn.joints, SHOWN.path.length - 1);
  // As high as there are waiting, told to a 320th of what is shown.
  const most = Math.max(...SHOWN.waiting.map(([, count]) => count));
  const [bottom, top] = [Math.max, Math.min].map((of) => of(...drawn.waiting.map(({ y }) => y)));
  const nearNs = (18e6 * 1.1) / 320;
  assert.equal(drawn.waiting.length, SHOWN.waiting.length, JSON.stringify(drawn.waiting));
  for (const [index, [atNs, count]] of SHOWN.waiting.entries()) {
    const step = drawn.waiting[index];
    assert.ok(Math.abs(step.atNs - atNs) <= nearNs, `${index}: ${JSON.stringify(step)}`);
    const height = ((bottom - step.y) / (bottom - top)) * most;
    assert.ok(Math.abs(height - count) < 1e-6, `${index}: ${height} waiting`);
  }
  assert.match(await page.locator('.timeline figcaption').innerText(), /not running/);
});

/** A place on the path that a segment must have in the timeline. */
const LANE = {
  exec: () => 'loop',
  queue: () => 'waiting',
  unattributed: () => 'outside',
  io: ({ part }) => (part === null ? 'outside' : 'pool'),
};

/** The critical path is that of explain, whatever the recording. */
function assertPath(drawn, { segments }) {
  const expected = segments.map((one) => ({
    beginNs: one.startNs,
    endNs: one.startNs + one.durationNs,
    classes: one.kind,
    lane: LANE[one.kind](one),
  }));
  const path = drawn.path.map((box) => ({ ...box, lane: laneOf(drawn, box) }));
  assertBoxes(path, expected, drawn, 'path', 'path');
}

/** What the screen tells apart: a 320th of what is shown, as in `crates/breakdown`. */
const stepOf = ({ latencyNs }) => (latencyNs * 1.1) / 320;

/** What is in the time that is shown: from a tenth of the latency before a request to its end. */
const shown = ({ beginNs, endNs }, { latencyNs }) => ({
  beginNs: Math.max(beginNs, -0.1 * latencyNs),
  endNs: Math.min(endNs, latencyNs),
});

const isNear = (box, beginNs, endNs, { nsOfPixel }) =>
  Math.abs(box.beginNs - beginNs) < 2 && Math.abs(box.endNs - endNs) < Math.max(2, nsOfPixel / 2);

/** Every event of explain that is long enough to be seen by itself is, with its whole length. */
function assertRuns(drawn, explanation) {
  const stepNs = stepOf(explanation);
  const long = explanation.events.filter((event) => {
    const { id, loopEvent } = event;
    if (event.beginNs === null || (loopEvent !== 0 && loopEvent !== id)) return false;
    const { beginNs, endNs } = shown(event, explanation);
    return endNs - beginNs > 2 * stepNs;
  });
  const own = Number(explanation.id.split(':')[1]);
  for (const event of long) {
    const { beginNs, endNs } = shown(event, explanation);
    const box = drawn.runs.find((run) => isNear(run, beginNs, endNs, drawn));
    const told = `${JSON.stringify(event)} in ${JSON.stringify(drawn.runs)}`;
    assert.ok(box, told);
    assert.equal(box.own, event.request === own, told);
  }
  return long.length;
}

/** Time of all titles of a class. */
const titledNs = (boxes) =>
  boxes.reduce((sum, { title }) => sum + durationOf(/\S+ \S+$/.exec(title)[0]), 0);

/** The collections that explain names are drawn, and no others where the request had the loop. */
function assertCollections(drawn, explanation) {
  const stepNs = stepOf(explanation);
  const culprits = explanation.segments.flatMap((segment) => segment.culprits);
  const pauses = new Map();
  for (const { type, pause } of culprits) {
    // What began before what is shown is cut there.
    if (pause !== null && pause.startNs >= -0.1 * explanation.latencyNs)
      pauses.set(pause.startNs, { kind: type.slice(3), ...pause });
  }
  const expected = [];
  for (const pause of [...pauses.values()].sort((a, b) => a.startNs - b.startNs)) {
    const endNs = pause.startNs + pause.durationNs;
    const last = expected.findLast(({ kind }) => kind === pause.kind);
    if (last === expected.at(-1) && last && pause.startNs - last.endNs <= stepNs) {
      Object.assign(last, { endNs, spentNs: last.spentNs + pause.durationNs });
    } else {
      const { kind, startNs, durationNs } = pause;
      expected.push({ kind, beginNs: startNs, endNs, spentNs: durationNs });
    }
  }
  const boxes = drawn.interruptions.filter(({ classes }) => classes === 'fill-gc');
  const seen = expected.filter(({ spentNs }) => spentNs >= stepNs / 4);
  for (const { kind, beginNs, endNs, spentNs } of seen) {
    const box = boxes.find((one) => Math.abs(one.beginNs - beginNs) < 2);
    const told = `${kind} at ${beginNs} for ${spentNs} in ${JSON.stringify(boxes)}`;
    assert.ok(box && isNear(box, beginNs, endNs, drawn), told);
    assert.equal(box.title, `${kind} ${units.formatDuration(spentNs)}`, told);
  }
  return seen;
}

/**
 * The median request of a route: on a machine that others share, the slowest is one that was
 * stopped for so long that all else is too short for the screen.
 */
function ofRoute(route) {
  const all = planted.explanations.filter((one) => one.route === `GET ${route}`);
  return all.sort((a, b) => a.latencyNs - b.latencyNs)[all.length >> 1];
}

/** The median request of a route, with what is drawn of it. */
async function shownOf(t, route) {
  const explanation = ofRoute(route);
  const page = await openRequest(t, planted.file, explanation.id);
  const drawn = await drawnTimeline(page);
  assertPath(drawn, explanation);
  assertRuns(drawn, explanation);
  const collections = assertCollections(drawn, explanation);
  return { page, drawn, explanation, collections };
}

test('planted collections are in their lane, with their kinds and times', async (t) => {
  const { drawn, collections } = await shownOf(t, '/gc');
  assert.ok(collections.some(({ kind }) => kind === 'mark-compact (asked for)'));
  const boxes = drawn.interruptions.filter(({ classes }) => classes === 'fill-gc');
  for (const box of boxes) assert.equal(laneOf(drawn, box), 'gc, jit, ic');
});

test('planted pool jobs are in their lane, waiting and running', async (t) => {
  const { drawn, explanation } = await shownOf(t, '/pool');
  const events = explanation.events.filter(({ type }) => type === 'pool');
  assert.ok(events.length >= 8, `${events.length} jobs`);
  assert.equal(drawn.jobs.length, events.length);
  const ends = events.map(({ readyNs }) => readyNs).sort((a, b) => a - b);
  const drawnEnds = drawn.jobs.map(({ endNs }) => endNs).sort((a, b) => a - b);
  for (const [index, readyNs] of ends.entries()) {
    assert.ok(Math.abs(drawnEnds[index] - readyNs) < 2, `${drawnEnds} for ${ends}`);
  }
  const ran = explanation.segments.filter(({ part }) => part === 'pool-run');
  assert.ok(ran.length > 0, 'a job is on the path');
  for (const { startNs, durationNs, resource } of ran) {
    const job = drawn.jobs.find((one) => isNear(one, startNs, startNs + durationNs, drawn));
    assert.ok(job, `a job from ${startNs} in ${JSON.stringify(drawn.jobs)}`);
    assert.ok(job.title.startsWith(`${resource} ${units.formatDuration(durationNs)} `), job.title);
    assert.equal(laneOf(drawn, job), 'pool');
  }
  // Eight jobs on four threads: no more than four run at any moment, and four do at some.
  const together = drawn.jobs.map(
    ({ beginNs }) =>
      drawn.jobs.filter((job) => job.beginNs <= beginNs + 2 && job.endNs > beginNs + 2).length,
  );
  assert.ok(Math.max(...together) <= 4, together.join());
});

for (const [route, name, key] of [
  ['/ic', 'ic', 'icNs'],
  ['/compile', 'jit', 'jitNs'],
]) {
  test(`planted ${name} is in its lane, as much as explain says`, async (t) => {
    const { drawn, explanation } = await shownOf(t, route);
    const spentNs = explanation.segments.reduce((sum, { work }) => sum + (work[key] ?? 0), 0);
    assert.ok(spentNs > 0, JSON.stringify(explanation.segments));
    const boxes = drawn.interruptions.filter(({ classes }) => classes === `fill-${name}`);
    const kind = { ic: 'inline-cache misses', jit: 'compilation' }[name];
    for (const box of boxes) {
      assert.ok(box.title.startsWith(`${kind} `), box.title);
      assert.equal(laneOf(drawn, box), 'gc, jit, ic');
    }
    // Titles have three digits; a box may begin before the request or be too short to be seen.
    const within = boxes.filter((box) => box.beginNs >= 0);
    const unseenNs = (explanation.latencyNs * 1.1) / 8;
    assert.ok(titledNs(within) <= spentNs * 1.01 + 1e3, `${titledNs(within)} of ${spentNs}`);
    assert.ok(titledNs(boxes) + unseenNs >= spentNs * 0.99, `${titledNs(boxes)} of ${spentNs}`);
  });
}

test('the graph has the path of explain, and each segment leads to its cause', async (t) => {
  for (const route of ['/pool', '/gc']) {
    const explanation = ofRoute(route);
    const page = await openRequest(t, planted.file, explanation.id);
    const onPath = explanation.events.filter((event) => event.onPath);
    const types = await textsOf(page, '.edg li.on-path b');
    assert.deepEqual(
      types,
      onPath.map(({ type }) => type),
    );
    assert.equal(await page.locator('.edg path.critical').count(), onPath.length - 1);
    assert.equal(await page.locator('.edg circle.critical').count(), onPath.length);
    const chips = page.locator('.edg .chip');
    assert.equal(await chips.count(), explanation.segments.length);
    for (const [index, segment] of explanation.segments.entries()) {
      await page
        .locator('.strip .fill')
        .nth(index)
        .evaluate((fill) => fill.click());
      const pressed = page.locator('.edg .chip[aria-pressed="true"]');
      await pressed.waitFor();
      const told = units.formatDuration(segment.durationNs);
      assert.ok((await pressed.innerText()).includes(told), told);
      const heading = (await page.locator('.cause h4').innerText()).trim();
      assert.ok(heading.startsWith(`${segment.kind} ${told}, `), heading);
      const most = [...segment.culprits].sort((a, b) => b.durationNs - a.durationNs)[0];
      const cause = await page.locator('.cause').innerText();
      const name = most?.type.replace(/^gc /, '');
      if (most?.type.startsWith('gc ')) assert.ok(cause.includes(name), `${name} in ${cause}`);
      const place = most?.location?.split('/').at(-1);
      if (place !== undefined) assert.ok(cause.includes(place), `${place} in ${cause}`);
      await pressed.click();
      await pressed.waitFor({ state: 'detached' });
    }
  }
});
