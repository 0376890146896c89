/** What the answer of whatif says on the terminal, and of drawn recordings what is to be known. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { drawRecording } from '../../../../workloads/harness/drawings.mjs';
import { runBobtail } from './run-bobtail.mjs';
import { assertValid } from './schemas.mjs';

const require = createRequire(import.meta.url);
const { renderWhatIf } = require('../../dist/cli/whatif/render-what-if.js');
const { colorsFor } = require('../../dist/cli/console.js');

const REQUESTS = 1500;
const SETS = ['route:/export=0.5', 'route:/import=0.5,gc=0.7', 'rate=60'];
const POLICIES = ['static:peak', 'gc-boost', 'combined'];
const SLOWER = 'latency=1ms,policy=combined';
const plainColors = colorsFor({ isTTY: false });

let home;
let folder;
let answer;

/** One request each 2 ms; one in forty takes 9 ms, and in one of a hundred V8 collects for 12. */
function scene(requests) {
  const lines = ['open 1 server'];
  let nowUs = 0;
  for (let n = 1; n <= requests; n += 1) {
    const readyUs = n * 2_000;
    if (readyUs > nowUs) {
      lines.push(`${nowUs}us poll for=${readyUs - nowUs}us count=1`);
      nowUs = readyUs;
    }
    const route = n % 40 === 7 ? 'export' : 'import';
    lines.push(`${nowUs}us begin read handle=1 ready=${readyUs}us`);
    lines.push(`source ${n} "GET%20/${route}"`);
    if (n % 100 === 53) {
      lines.push(`${nowUs + 100}us gc mark for=12000us`);
      nowUs += 12_000;
    }
    nowUs += route === 'export' ? 9_000 : 400;
    lines.push(`${nowUs}us sink ${n} 200`, 'end');
  }
  return lines.join('\n');
}

async function asked(at, ...args) {
  const { code, stdout, stderr } = await runBobtail(['whatif', at, '--json', ...args]);
  assert.equal(code, 0, stderr);
  const told = JSON.parse(stdout);
  assertValid('whatif', told);
  return told;
}

before(async () => {
  home = mkdtempSync(join(tmpdir(), 'bobtail-whatif-text-'));
  folder = drawRecording(home, 'drawn', scene(REQUESTS));
  const sets = [...SETS, SLOWER].flatMap((one) => ['--set', one]);
  answer = await asked(folder, ...sets, ...POLICIES.flatMap((one) => ['--policy', one]));
});

after(() => rmSync(home, { recursive: true, force: true }));

const textAt = (width) => renderWhatIf(answer, { colors: plainColors, width });

for (const width of [60, 80, 100, 140, 200]) {
  test(`names of scenarios are whole and no line is too long at ${width} columns`, () => {
    const lines = textAt(width).split('\n');
    for (const { name } of answer.scenarios) {
      assert.ok(
        lines.some((line) => line.startsWith(`  ${name}`)),
        `${name} in\n${lines.join('\n')}`,
      );
    }
    const long = lines.filter((line) => [...line].length > width);
    assert.deepEqual(long, []);
  });
}

test('changes come with their intervals, which are said to be 95 %', () => {
  const wide = textAt(200);
  const peak = answer.scenarios.find(({ name }) => name === 'policy=static:peak');
  const p99 = peak.percentiles.find(({ percentile }) => percentile === 99);
  const [change, low, high] = [p99.change, ...p99.changeInterval].map((share) => {
    assert.ok(share < -0.1, String(share));
    return `−${Math.abs(share * 100).toFixed(0)}`;
  });
  const expected = `${change} % [${low} to ${high}]`;
  const row = wide.split('\n').find((line) => line.startsWith('  policy=static:peak'));
  assert.ok(row.includes(expected), `${expected} in ${row}`);
  assert.match(wide, /Intervals are 95 %/);
});

test('what is not told is said', () => {
  const narrow = textAt(80).replace(/\s+/g, ' ');
  const untold = 'p99.9 is not told: 10 requests have to lie beyond it, and 1 do;';
  assert.ok(narrow.includes(`${untold} about 10000 that count are needed`), narrow);
  assert.deepEqual([answer.asked, answer.percentiles[0]], [99.9, 99]);
  assert.match(narrow, /rate=60: the event loop would have \d+\.\d+ times as much work as time/);
  assert.match(narrow, /rate=60 p99 saturated p50 saturated/);
  assert.match(narrow, /under `rate` closer together or further apart/);
});

test('schemes are compared with those that have the same lever, and what that is', () => {
  const text = textAt(140).replace(/\s+/g, ' ');
  assert.match(
    text,
    /Levers differ: against energy, schemes are compared with those that have the same/,
  );
  const slower = answer.frontier.points.find(({ name }) => name === SLOWER);
  assert.deepEqual([slower.lever, slower.beatenBy], [0, null]);
  assert.match(text, /● latency=1ms,policy=combined .* on the frontier/);
  assert.match(text, /modelled energy/);
  assert.match(text, /static:peak .*2\.712×/);
});

test('of one lever it is said what it takes', async () => {
  const one = await asked(folder, '--policy', 'combined', '--budget', '2%', '--look', '33.0 µs');
  const { budget, lookNs, latencyNs } = one.scenarios[0].policy;
  assert.deepEqual([budget, lookNs, latencyNs], [0.02, 33_000, 20_000]);
  const text = renderWhatIf(one, { colors: plainColors, width: 400 });
  const looks = 'looking may cost 2 % of the time that a loop works, and each look 33.0 µs.';
  assert.ok(text.includes(`The lever of each loop takes 20.0 µs; ${looks}`), text);
});

test('scenarios come in the order in which they were asked for', async () => {
  const told = await asked(
    folder,
    '--policy',
    'gc-boost',
    '--set',
    'gc=0.5',
    '--policy',
    'combined',
  );
  assert.deepEqual(
    told.scenarios.map(({ name }) => name),
    ['policy=gc-boost', 'gc=0.5', 'policy=combined'],
  );
});

test('a target is not reached under too much load', async () => {
  const told = await asked(folder, '--set', 'rate=60,policy=rubik:target=20ms');
  const [{ saturated, percentiles, policy }] = told.scenarios;
  assert.deepEqual([saturated, percentiles, policy.target.reachedNs], ['loop', [], null]);
});

test('a pool that nothing used changes nothing, and that is said', async () => {
  const { notes } = await asked(folder, '--set', 'pool=8');
  assert.ok(notes.includes('nothing used the thread pool, so `pool` changes nothing'), `${notes}`);
});

/** The traces of both drawings in one recording, as of two processes. */
function together(name, one, other) {
  const [first, second] = [one, other].map((text, at) =>
    drawRecording(home, `${name}-${at}`, text),
  );
  const [trace] = readdirSync(second).filter((file) => file.endsWith('.trace'));
  cpSync(join(second, trace), join(first, '4242-0.trace'));
  return first;
}

test('a loop that answered nobody does not refuse what the others did', async () => {
  const stream = [
    'open 1 server',
    '0ms begin read handle=1 ready=0ms',
    'source 1 "GET%20/events"',
    'end',
  ];
  const both = together('stream', scene(200), stream.join('\n'));
  assert.equal((await asked(both)).requests, 200);
});

test('losses that are not too many are told', async () => {
  const last = ['loss overwritten count=3', '805000us begin read handle=1 ready=805000us'];
  last.push('source 401 "GET%20/import"', '805400us sink 401 200', 'end');
  const lossy = [scene(400), ...last].join('\n');
  const { fidelity, notes } = await asked(drawRecording(home, 'lossy', lossy));
  assert.deepEqual([fidelity.losses, fidelity.ofRequests], [3, 401]);
  assert.ok(fidelity.lostNs > 0 && fidelity.lostNs < 10e6, JSON.stringify(fidelity));
  assert.ok(
    notes.some((note) => note.startsWith('records were lost (')),
    `${notes}`,
  );
});

test('no name out of a recording reaches the terminal as an escape sequence', async () => {
  const hostile = scene(100).replaceAll('/export', '/%1b%5b2J%e2%80%aeexport');
  const at = drawRecording(home, 'hostile', hostile);
  const { code, stderr } = await runBobtail(['whatif', at, '--set', 'route:/exprt=0.5']);
  assert.equal(code, 64);
  assert.match(stderr, /nearest: .*export/);
  assert.ok(!stderr.includes('\u001b') && !stderr.includes('\u202e'), JSON.stringify(stderr));
});
