/** Recordings of real services: started, driven, ended, and asked for their report. */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder, PACKAGE, runBobtail, startBobtail } from './run-bobtail.mjs';
import { assertValid } from './schemas.mjs';

const FIXTURES = new URL('./fixtures/', import.meta.url).pathname;

/** Path of a service below `fixtures/`. */
export const fixture = (name) => join(FIXTURES, name);

/**
 * Records `command`; resolves when it listens. `end(signal)` ends it and resolves to how the
 * recorder ended, with the recording folder.
 */
export async function startRecording(
  test,
  command,
  { flags = [], cwd = makeFolder(test), ...more } = {},
) {
  const { child, ended, until } = startBobtail(['record', ...flags, '--', ...command], {
    cwd,
    ...more,
  });
  let servicePid = 0;
  // A failed test leaves both running, and their pipes would keep the test runner waiting.
  test.after(() => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      if (servicePid !== 0) process.kill(servicePid, 'SIGKILL');
    }
    child.stdout.destroy();
    child.stderr.destroy();
  });
  const [, port, pid] = /listening (\d+)(?: pid (\d+))?\n/.exec(await until(/listening .*\n/));
  servicePid = Number(pid ?? 0);
  const folder = join(cwd, 'recording.bobtail');
  const end = (signal = 'SIGTERM') => {
    child.kill(signal);
    return ended;
  };
  return { recorder: child, port: Number(port), pid: Number(pid), cwd, folder, until, ended, end };
}

/** The report of a recording, as it is and checked against its schema. */
export async function reportOf(folder, ...options) {
  const { code, stdout, stderr } = await runBobtail(['report', folder, '--json', ...options]);
  assert.equal(code, 0, stderr);
  assert.equal(stderr, '');
  const report = JSON.parse(stdout);
  assertValid('report', report);
  return report;
}

/** A copy of the package with these bytes as its probe; the path of its command line. */
export function packageWithProbe(test, bytes) {
  const folder = makeFolder(test);
  for (const name of ['dist', 'package.json']) {
    cpSync(join(PACKAGE, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(PACKAGE, '../../node_modules'), join(folder, 'node_modules'));
  mkdirSync(join(folder, 'native'));
  writeFileSync(join(folder, 'native/bobtail-probe.node'), bytes);
  return join(folder, 'dist/cli/main.js');
}
