/** What is refused to a later burst, although it was granted to the first, is told as missing. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hookWords } from '../agent/hook-words.mjs';
import { load } from './load.mjs';
import { nodes } from './nodes.mjs';
import { deniesPerfEvents } from './other-kernel.mjs';
import { fixture, reportOf, startRecording } from './recordings.mjs';

const TAKEN = ['compilation', 'functions made of text', 'inline-cache misses'];
const NOT_RUNNING = 'time not running';
/** Requests that take far longer than a period. */
const ENOUGH = 20_000;
const IN_TABLE = /^in a later burst: V8's reference table has \w+ 0 times \(0 of \d+ found\)$/;

/** Reasons of what is missing, by name. */
function missingOf(folder) {
  const name = readdirSync(folder).find((one) => one.startsWith('process-'));
  const { mechanisms } = JSON.parse(readFileSync(join(folder, name), 'utf8'));
  return new Map(mechanisms.filter(({ ok }) => !ok).map((one) => [one.name, one.reason]));
}

/** What is asked again is the same code on every version; what V8 has, the first and last tell. */
for (const { path, version } of new Set([nodes[0], nodes.at(-1)])) {
  test(`${version}: what a later burst is refused is told, and the service goes on`, async (t) => {
    const flags = ['--every', '400ms', '--for', '200ms', '--not-running'];
    const env = {
      BOBTAIL_TEST_HOOK_WORDS: hookWords(t),
      BOBTAIL_TEST_DENIES: deniesPerfEvents(t, 'EPERM'),
    };
    const command = [path, fixture('refusing.cjs')];
    const service = await startRecording(t, command, { flags, env });
    const first = missingOf(service.folder);
    for (const name of TAKEN) assert.ok(!first.has(name), first.get(name));
    await service.until(/taken\n/);
    // Told in the burst after it, whenever that comes.
    for (let answered = 0; !missingOf(service.folder).has(TAKEN[0]); ) {
      assert.ok(answered < ENOUGH, 'a later burst is never told');
      answered += await load(service.port, { count: 10 });
    }
    assert.equal(await load(service.port, { count: 20 }), 20);
    const { signal, stdout, stderr } = await service.end('SIGTERM');
    assert.equal(signal, 'SIGTERM', stderr);

    const { unavailable, breakdown, requests, losses } = await reportOf(service.folder);
    const told = new Map(unavailable.map((one) => [one.mechanism, one.reason]));
    for (const name of TAKEN) {
      assert.match(told.get(name), IN_TABLE);
      assert.ok((stdout + stderr).includes(name), stdout + stderr);
    }
    const refused = 'perf_event_open: Operation not permitted (os error 1)';
    const isOfLater = told.get(NOT_RUNNING).startsWith(`in a later burst: ${refused}`);
    assert.equal(isOfLater, !first.has(NOT_RUNNING), told.get(NOT_RUNNING));
    const lost = new Set([...first.keys(), ...TAKEN, NOT_RUNNING]);
    assert.deepEqual([...told.keys()].sort(), [...lost].sort());
    assert.ok(requests.count > 0);
    assert.deepEqual(losses, {});
    const { gcNs, jitNs, icNs, notRunningNs } = breakdown[0].work;
    assert.deepEqual([jitNs, icNs, notRunningNs], [null, null, null]);
    assert.ok(Number.isInteger(gcNs), 'collections are told as before');
  });
}
