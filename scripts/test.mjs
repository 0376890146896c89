// Everything that decides whether main is good, in the order cheapest first. CI runs this and
// nothing else, so a green run here is a green run there.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { keptAwake } from '../workloads/harness/awake.mjs';
import { build } from './build.mjs';
import { root, step } from './steps.mjs';

/** Test files below `folder` that end in `suffix`, as paths relative to the root. */
function testFiles(folder, suffix) {
  return readdirSync(join(root, folder), { recursive: true })
    .filter((name) => name.endsWith(suffix) && !/(^|\/)(\.|node_modules)/.test(name))
    .map((name) => join(folder, name))
    .sort();
}

/** Files in which nothing is timed; they run two at a time, the others one by one. */
const UNTIMED = [
  'agent/async-hooks',
  'agent/behaviour',
  'agent/clients',
  'agent/evidence',
  'agent/exits',
  'agent/heap',
  'agent/interjections',
  'agent/names',
  'agent/servers',
  'cli/answers',
  'cli/bad-input',
  'cli/boost-disk',
  'cli/boost-kills',
  'cli/boost-left',
  'cli/boost-npx',
  'cli/boost-users',
  'cli/diff',
  'cli/end-to-end-sources',
  'cli/export',
  'cli/gates',
  'cli/html',
  'cli/many-routes',
  'cli/outputs',
  'cli/self-checks',
  'cli/sources',
  'cli/stripped',
  'cli/usage',
  'library/examples',
  'library/types',
  'prove/',
  'tune/answer',
  'tune/flags',
  'tune/race',
];

/** Node binaries of all four versions, as the suites want them. */
const nodes = ['node20', 'node22', 'node24', 'node26']
  .map((name) => join(root, 'node_modules', name, 'bin', 'node'))
  .join(':');

/** One file at a time where things are timed: parallel files would disturb each other. */
async function suite(title, files, { concurrency = 1 } = {}) {
  await step(title, process.execPath, ['--test', `--test-concurrency=${concurrency}`, ...files], {
    env: { BOBTAIL_TEST_NODES: nodes },
  });
}

await build();
await step('format and lint: TypeScript', 'npx', ['biome', 'ci', '--colors=off', '.']);
await step('format: Rust', 'cargo', ['fmt', '--all', '--check']);
await step('tidy', process.execPath, ['scripts/tidy.mjs']);
// They wait for registries, Etherpad for minutes, which the compiler does not.
const etherpad = step('install Etherpad Lite', process.execPath, ['workloads/etherpad/setup.mjs']);
const chromium = step('find or install Chromium', process.execPath, [
  'packages/report-ui/chromium.mjs',
]);
const all = ['--profile', 'tested', '--workspace'];
await step('lint: Rust', 'cargo', ['clippy', ...all, '--all-targets', '--', '-D', 'warnings']);
await step('test: Rust', 'cargo', ['test', ...all, '--quiet']);
await chromium;
// Much of what follows is timed, and on a shared host cores that sleep are stopped far more often.
const isAwake = keptAwake();
process.stdout.write(`processors are ${isAwake ? '' : 'not '}kept from sleeping\n`);
await suite('test: what experiments share', testFiles('bench', '.test.mjs'));
await suite('test: probe in four Nodes', testFiles('crates/probe/tests', '.test.mjs'));
const ours = testFiles('packages/bobtail/test', '.test.mjs');
const untimed = ours.filter((file) => UNTIMED.some((name) => file.includes(`/test/${name}`)));
await suite('test: what is not timed of agent and command line', untimed, { concurrency: 2 });
await suite(
  'test: agent and command line',
  ours.filter((file) => !untimed.includes(file)),
);
// What a page shows does not depend on how long that took; what opening it costs is timed.
const pages = testFiles('packages/report-ui/test', '.test.mjs');
const timed = pages.filter((file) => file.endsWith('/load.test.mjs'));
const shown = pages.filter((file) => !timed.includes(file));
await suite('test: HTML report in Chromium', shown, { concurrency: 2 });
await suite('test: cost of opening a large page', timed);
await suite('test: planted causes', testFiles('workloads', '.test.mjs'));
await etherpad;
await step('test: Etherpad Lite round trip', process.execPath, [
  'workloads/etherpad/round-trip.mjs',
]);
