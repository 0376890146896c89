// Makes the kernel stamp what sockets receive, for all tests of a file.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before } from 'node:test';
import { begins, launch, nodes, read, TIMEOUT_MS, traces } from './observed.mjs';

/**
 * Has the kernel stamp what is received, from now until the tests end.
 *
 * Linux turns stamping on with the first socket that wants it, but does so in the background, and
 * off with the last: what arrives in between has no stamp, so its ready time is a bound. That is
 * right, but not what these tests are about; so one socket that wants stamps is kept open.
 */
export function keepStamps() {
  let end = () => {};
  before(async () => {
    end = await untilStamped();
  });
  after(() => end());
}

async function untilStamped() {
  const out = fs.mkdtempSync(path.join(os.tmpdir(), 'bobtail-stamps-'));
  const child = launch(nodes[0], out, 'stamps');
  child.stderr.pipe(process.stderr);
  const isStamped = () =>
    traces(out).some((file) =>
      begins(read(path.join(out, file)), 'udp').some((r) => r.quality === 'exact'),
    );
  const deadline = Date.now() + TIMEOUT_MS;
  while (!isStamped()) {
    assert.equal(child.exitCode, null);
    assert.ok(Date.now() < deadline, 'the kernel stamps nothing');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return () => {
    child.kill('SIGKILL');
    fs.rmSync(out, { recursive: true, force: true });
  };
}
