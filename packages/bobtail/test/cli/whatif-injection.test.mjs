/** What-if against the truth: a part of a live service is made slower by a known factor. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { nodes } from './nodes.mjs';
import { fixture } from './recordings.mjs';
import { runBobtail } from './run-bobtail.mjs';
import { assertValid } from './schemas.mjs';

const GROUPS = 24;
/** How long /hog blocks the loop, and how long the upstream takes that /up asks. */
const BASE = { busyMs: 40, upstreamMs: 40 };
/** Of what came, on top of three times what two recordings of the same differ by. */
const OFF_AT_MOST = 0.1;
const ATTEMPTS = 3;

// Single percentiles, each in the middle of the requests of a kind: the slower half of them may be
// slow for any reason without moving it. Behind /hog four others wait as long; behind /up nobody.
const INJECTIONS = [
  { route: 'hog', change: 'route:/hog.exec=2', at: 50, slower: { ...BASE, busyMs: 80 } },
  { route: 'up', change: 'io=2', at: 90, slower: { ...BASE, upstreamMs: 80 } },
];

let home;

before(() => {
  home = mkdtempSync(join(tmpdir(), 'bobtail-injection-'));
});

after(() => rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }));

async function recorded(name, node, route, { busyMs, upstreamMs }) {
  const out = join(home, `${name}.bobtail`);
  const load = [process.execPath, fixture('whatif-load.mjs'), 'groups', GROUPS, route];
  const onPort = load.map((word) => `'${word}'`).join(' ');
  const flags = ['--quiet', '--no-report', '--no-html', '--out', out, '--on-port', onPort];
  const service = [node.path, fixture('whatif-service.cjs'), `busy=${busyMs}`];
  const env = { UPSTREAM_MS: String(upstreamMs) };
  const { code, stderr } = await runBobtail(['record', ...flags, '--', ...service], { env });
  assert.equal(code, 0, stderr);
  return out;
}

async function whatIf(folder, percentile, ...options) {
  const args = ['whatif', folder, '--json', '--tail', String(percentile), ...options];
  const { code, stdout, stderr } = await runBobtail(args);
  assert.equal(code, 0, stderr);
  const answer = JSON.parse(stdout);
  assertValid('whatif', answer);
  return answer;
}

/** What was recorded twice, what was predicted from the first, and what came. */
async function injected({ route, change, at, slower }, node, attempt) {
  const name = (which) => `${which}-${route}-${attempt}`;
  const recordedNs = async (which, service) => {
    const folder = await recorded(name(which), node, route, service);
    return (await whatIf(folder, at)).fidelity.recordedNs[at];
  };
  const first = await recorded(name('first'), node, route, BASE);
  const answer = await whatIf(first, at, '--set', change);
  const told = answer.scenarios[0].percentiles.find(({ percentile }) => percentile === at);
  return {
    firstNs: answer.fidelity.recordedNs[at],
    againNs: await recordedNs('again', BASE),
    // None where a machine that is busy made the loop look so: then it is saturated.
    predictedNs: told?.latencyNs ?? 0,
    cameNs: await recordedNs('came', slower),
  };
}

for (const [index, injection] of INJECTIONS.entries()) {
  const node = nodes.at(-1 - index) ?? nodes[0];
  const title = `what is predicted of ${injection.change} is what comes on ${node.version}`;
  test(title, async (t) => {
    for (let attempt = 1; ; attempt++) {
      const told = await injected(injection, node, attempt);
      const { firstNs, againNs, predictedNs, cameNs } = told;
      t.diagnostic(JSON.stringify(told));
      const mostNs = OFF_AT_MOST * cameNs + 3 * Math.abs(firstNs - againNs);
      const isRight = Math.abs(predictedNs - cameNs) <= mostNs;
      // It must not be right because anything would be: without the prediction it would be wrong.
      if (isRight && Math.abs(firstNs - cameNs) > mostNs) return;
      assert.ok(attempt < ATTEMPTS, JSON.stringify(told));
    }
  });
}
