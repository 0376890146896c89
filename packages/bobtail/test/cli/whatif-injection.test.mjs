/** What-if against the truth: a part of a live service is made slower by a known factor. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { nodes } from './nodes.mjs';
import { recorded, whatIfOrRefused } from './whatif-recordings.mjs';

/** Of five requests: of half of them, where the host takes time, ten are still beyond p90. */
const GROUPS = 42;
/**
 * How long /hog blocks the loop, how long the upstream takes that /up asks, and how many times
 * /collect has everything collected.
 */
const BASE = { busyMs: 40, upstreamMs: 40, collects: 2 };
/** Of what came, on top of three times what two recordings of the same differ by. */
const OFF_AT_MOST = 0.1;
/** Two that differ by more than that of it tell nothing of a prediction. */
const APART_AT_MOST = 0.1;
const ATTEMPTS = 6;

// Single percentiles, each in the middle of the requests of a kind: the slower half of them may be
// slow for any reason without moving it. Behind /hog four others wait as long; behind /up nobody.
const INJECTIONS = [
  { route: 'hog', change: 'route:/hog.exec=2', at: 50, slower: { ...BASE, busyMs: 80 } },
  { route: 'up', change: 'io=2', at: 90, slower: { ...BASE, upstreamMs: 80 } },
  { route: 'collect', change: 'gc=2', at: 50, slower: { ...BASE, collects: 4 } },
];

let home;

before(() => {
  home = mkdtempSync(join(tmpdir(), 'bobtail-injection-'));
});

after(() => rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }));

/**
 * What was recorded twice, what was predicted from the first, and what came; or why one of these
 * recordings is refused.
 */
async function injected({ route, change, at, slower }, node, attempt) {
  const asked = async (which, { busyMs, upstreamMs, collects }, ...options) => {
    const out = join(home, `${which}-${route}-${attempt}.bobtail`);
    const env = { UPSTREAM_MS: String(upstreamMs), COLLECTS: String(collects) };
    await recorded(out, node, ['groups', GROUPS, route], { busyMs, env });
    return whatIfOrRefused(out, '--tail', String(at), ...options);
  };
  const first = await asked('first', BASE, '--set', change);
  const again = await asked('again', BASE);
  const came = await asked('came', slower);
  const refused = [first, again, came].map((one) => one.refused).filter(Boolean);
  if (refused.length > 0) return { refused };
  const told = first.scenarios[0].percentiles.find(({ percentile }) => percentile === at);
  const recordedNs = (answer) => answer.fidelity.recordedNs[at];
  return {
    firstNs: recordedNs(first),
    againNs: recordedNs(again),
    // None where a machine that is busy made the loop look so: then it is saturated.
    predictedNs: told?.latencyNs ?? 0,
    cameNs: recordedNs(came),
  };
}

for (const [index, injection] of INJECTIONS.entries()) {
  const node = nodes.at(-1 - index) ?? nodes[0];
  const title = `what is predicted of ${injection.change} is what comes on ${node.version}`;
  test(title, async (t) => {
    let rightBeyondWrong = 0;
    for (let attempt = 1; ; attempt++) {
      const told = await injected(injection, node, attempt);
      const { firstNs, againNs, predictedNs, cameNs } = told;
      t.diagnostic(JSON.stringify(told));
      const apartNs = Math.abs(firstNs - againNs);
      const mostNs = OFF_AT_MOST * cameNs + 3 * apartNs;
      // It must not be right because anything would be: without the prediction it would be wrong.
      // Of what is refused all of this is NaN, and nothing is told.
      const isTold = apartNs <= APART_AT_MOST * firstNs && Math.abs(firstNs - cameNs) > mostNs;
      if (isTold) rightBeyondWrong += Math.abs(predictedNs - cameNs) <= mostNs ? 1 : -1;
      // Who was wrong once has to be right twice: luck is no proof.
      if (rightBeyondWrong > 0) return;
      assert.ok(attempt < ATTEMPTS, JSON.stringify({ rightBeyondWrong, ...told }));
    }
  });
}
