/** Gates: what may be typed, what comes of them, and how it is told. */
import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { elementsOf } from './junit-xml.mjs';
import { makeFolder, PACKAGE, runBobtail, SERVER } from './run-bobtail.mjs';
import { assertValid } from './schemas.mjs';

const load = createRequire(import.meta.url);
const dist = (path) => load(join(PACKAGE, 'dist', path));
const { parseGate } = dist('gates/gate.js');
const { renderJunit } = dist('gates/junit.js');
const { sentenceOf } = dist('gates/outcome.js');
const { check } = dist('index.js');

const REQUESTS = 300;
const LOAD = `${process.execPath} -e "
  (async () => {
    for (let i = 0; i < ${REQUESTS}; i++) {
      await (await fetch('http://127.0.0.1:' + process.env.PORT + '/same')).text();
    }
  })()"`;

let home;
let recording;

before(async () => {
  home = mkdtempSync(join(tmpdir(), 'bobtail-gates-'));
  const args = ['record', '--no-report', '--on-port', LOAD, '--', process.execPath, SERVER];
  const { code, stderr } = await runBobtail(args, { cwd: home });
  assert.equal(code, 0, stderr);
  recording = join(home, 'recording.bobtail');
});

after(() => rmSync(home, { recursive: true, force: true }));

const gates = (...texts) => texts.flatMap((text) => ['--fail-on', text]);

const PARSED = [
  ['p99.9<50ms', { metric: { kind: 'percentile', percentile: 99.9 }, bound: 50e6, unit: 'time' }],
  [' mean <= 1.5 s ', { name: 'mean', operator: '<=', bound: 1.5e9 }],
  ['tail.gc<10%', { metric: { kind: 'cause', cause: 'gc' }, bound: 0.1, unit: 'share' }],
  ['tail.queue<3us', { bound: 3000, unit: 'time' }],
  ['losses=0', { operator: '=', bound: 0, unit: 'number' }],
  ['count>=1000', { operator: '>=', bound: 1000 }],
  ['route("GET /a<b>\\"c\\"").p50<7ns', { route: 'GET /a<b>"c"', bound: 7 }],
];

for (const [text, expected] of PARSED) {
  test(`${text} is a gate`, () => {
    const gate = parseGate(text);
    for (const [key, value] of Object.entries(expected)) {
      assert.deepEqual(gate[key], value, key);
    }
  });
}

const REFUSED = [
  [
    'p99x<50ms',
    /^--fail-on: unknown metric "p99x", there are count, mean, pN, tail, .* \(p99x<50ms\)$/,
  ],
  ['p100<50ms', /unknown metric "p100"/],
  ['tail.foo<5%', /unknown cause "foo", there are io, queue, /],
  ['p99<5%', /p99 takes ns, us, ms or s, not % \(p99<5%\)$/],
  ['p99<5', /p99 takes ns, us, ms or s \(p99<5\)$/],
  ['tail.gc<5kB', /takes a metric, an operator and a bound/],
  ['tail.gc<5h', /tail\.gc takes %, ns, us, ms or s, not h/],
  ['count<5ms', /count takes a whole number without a unit/],
  ['p99<+5ms', /p99 takes a bound without a sign/],
  ['p99', /takes a metric, an operator and a bound, such as p99\.9<50ms \(p99\)$/],
  ['', /takes a metric, an operator and a bound/],
  ['route(GET /x).p99<1ms', /a route is named as route\("GET \/x"\)\.p99/],
  ['route("\\x").p99<1ms', /the route is no JSON string/],
  ['route("GET /x").losses=0', /losses is of the whole recording, not of a route/],
];

for (const [text, message] of REFUSED) {
  test(`${JSON.stringify(text)} is refused before the recording is read`, async () => {
    assert.throws(() => parseGate(text), { name: 'Failure', exitName: 'usage', message });
    const result = await runBobtail(['report', 'no-such-folder', ...gates(text)]);
    assert.equal(result.code, 64);
    assert.equal(result.stdout, '');
    assert.match(result.stderr, /^bobtail: --fail-on: .*\n$/);
  });
}

test('kept gates change nothing but the answer', async () => {
  const kept = gates('p50<10s', 'losses=0', `count=${REQUESTS}`, 'tail.gc<=100%', 'mean>1ns');
  const result = await runBobtail(['report', recording, ...kept]);
  assert.equal(result.code, 0, result.stderr);
  assert.equal(result.stderr, '');
  assert.equal(result.stdout.match(/^ {2}passed /gm).length, 5);
  const bare = await runBobtail(['report', recording]);
  assert.ok(result.stdout.startsWith(bare.stdout));
});

test('a missed gate has its own exit code and a line with value, interval and bound', async () => {
  const all = gates('p50<1ns', 'p99.9<10s', 'route("GET /nowhere").mean<1s', 'mean<10s');
  const { code, stdout, stderr } = await runBobtail(['report', recording, ...all]);
  assert.equal(code, 75, stderr);
  const lines = stderr.trimEnd().split('\n');
  assert.equal(lines.length, 3, stderr);
  const missed = /^bobtail: gate missed: p50 is \d.*s( \[.*\])?, wanted <1 ns(: too few .*)?$/;
  assert.match(lines[0], missed);
  assert.equal(
    lines[1],
    'bobtail: gate undecided: p99.9 cannot be told, wanted <10.0 s: ' +
      '10,000 requests are needed, there are 300',
  );
  assert.match(lines[2], /nowhere.* cannot be told, .*: there is no request of this route$/);
  assert.match(stdout, /^ {2}missed .*\n {2}undecided .*\n {2}undecided .*\n {2}passed /m);
});

test('what cannot be told is not passed', async () => {
  const { code, stderr } = await runBobtail(['report', recording, ...gates('p99.9<10s')]);
  assert.equal(code, 76, stderr);
});

test('without a request there is nothing to gate: the line and code of a report', async (t) => {
  const cwd = makeFolder(t);
  mkdirSync(join(cwd, 'empty'));
  cpSync(join(recording, 'run.json'), join(cwd, 'empty', 'run.json'));
  for (const [folder, code] of [
    ['empty', 67],
    ['nowhere', 68],
  ]) {
    const bare = await runBobtail(['report', folder], { cwd });
    const files = ['--junit', 'gates.xml', '--markdown=summary.md'];
    const gated = await runBobtail(['report', folder, ...files, ...gates('count>=1')], { cwd });
    assert.equal(gated.code, code);
    assert.deepEqual(gated, bare);
  }
  assert.deepEqual(readdirSync(cwd), ['empty']);
});

test('JSON has what came of each gate, in their order, and nothing without gates', async () => {
  const bare = JSON.parse((await runBobtail(['report', recording, '--json'])).stdout);
  assert.equal('gates' in bare, false);
  const texts = ['p50<1ns', 'p99.9<10s', 'tail.gc<=100%', 'losses=0'];
  const { code, stdout } = await runBobtail(['report', recording, '--json', ...gates(...texts)]);
  assert.equal(code, 75);
  const answer = JSON.parse(stdout);
  assertValid('report', answer);
  const { gates: outcomes, ...rest } = answer;
  assert.deepEqual(rest, bare);
  assert.deepEqual(outcomes, await check(recording, texts));
  const told = outcomes.map(({ gate, outcome, unit, bound }) => [gate, outcome, unit, bound]);
  assert.deepEqual(told, [
    ['p50<1ns', 'missed', 'time', 1],
    ['p99.9<10s', 'undecided', 'time', 10e9],
    ['tail.gc<=100%', 'passed', 'share', 1],
    ['losses=0', 'passed', 'number', 0],
  ]);
  assert.equal(outcomes[1].value, null);
  assert.match(outcomes[1].reason, /^10,000 requests are needed, there are 300$/);
});

test('JUnit and Markdown are written beside the answer, for CI services', async (t) => {
  const cwd = makeFolder(t);
  const all = gates('p50<10s', 'p50<1ns', 'p99.9<10s');
  const files = ['--junit', 'gates.xml', '--markdown', 'summary.md'];
  const result = await runBobtail(['report', recording, ...files, ...all], { cwd });
  assert.equal(result.code, 75);
  assert.match(result.stdout, /^tail \(/m);
  const elements = elementsOf(readFileSync(join(cwd, 'gates.xml'), 'utf8'));
  const [suites] = elements;
  assert.deepEqual([suites.tests, suites.failures, suites.errors], ['3', '1', '1']);
  const cases = elements.filter(({ classname }) => classname === 'bobtail report');
  assert.deepEqual(
    cases.map(({ name }) => name),
    ['p50<10s', 'p50<1ns', 'p99.9<10s'],
  );
  const markdown = readFileSync(join(cwd, 'summary.md'), 'utf8');
  assert.match(markdown, /^\| gate \| wanted \| measured \|/);
  assert.match(markdown, /\*\*missed\*\* \| p50\\<1ns \|/);
  // In the same folder, as the files of a culprit are named from where the command runs.
  const told = await runBobtail(['report', recording, '--markdown', ...all], { cwd });
  assert.equal(told.stdout, markdown);
  assert.deepEqual(readdirSync(cwd).sort(), ['gates.xml', 'summary.md']);
});

test('hostile names of routes are text in JUnit and nothing else', () => {
  const name = 'route("GET /</testcase><x a=\\"\'&amp;]]>\u0000\u001b[2J\ud800\uffff").p99';
  const outcome = { name, gate: `${name}<1ms`, outcome: 'missed', value: 2e6, interval: null };
  const more = { operator: '<', bound: 1e6, unit: 'time', isChange: false, reason: null };
  for (const which of ['passed', 'missed', 'undecided']) {
    const xml = renderJunit('<&">', [{ ...outcome, ...more, outcome: which }]);
    const elements = elementsOf(xml);
    assert.equal(elements.length, 4);
    assert.match(elements[2].name, /^route\("GET \/<\/testcase><x a=\\"'&amp;\]\]>\?\[2J\?\?"\)/);
  }
  const sentence = sentenceOf({ ...outcome, ...more });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what may not be there
  assert.doesNotMatch(sentence, /[\x00-\x1f]/);
});

test('an output that cannot be written leaves nothing behind', async (t) => {
  const cwd = makeFolder(t);
  for (const option of ['--junit', '--markdown']) {
    const path = 'no-such-folder/out';
    const args = ['report', recording, option, path, ...gates('p50<10s')];
    const { code, stderr } = await runBobtail(args, { cwd });
    assert.equal(code, 73, option);
    assert.match(stderr, /^bobtail: cannot write: .*\(.*no-such-folder.*\)\n$/);
    assert.ok(!existsSync(join(cwd, 'no-such-folder')));
  }
  const { code, stderr } = await runBobtail(['report', recording, '--junit', 'x.xml'], { cwd });
  assert.equal(code, 64);
  assert.equal(stderr, 'bobtail: --junit needs a gate: --fail-on (x.xml)\n');
  assert.deepEqual(readdirSync(cwd), []);
});
