/** Recordings of whatif-service under its load, and what `bobtail whatif` says of them. */
import assert from 'node:assert/strict';
import { fixture } from './recordings.mjs';
import { runBobtail } from './run-bobtail.mjs';
import { assertValid } from './schemas.mjs';

export const SERVICE = fixture('whatif-service.cjs');

/** The load as a command of `--on-port`. */
export function loadOf(words) {
  return [process.execPath, fixture('whatif-load.mjs'), ...words]
    .map((word) => `'${word}'`)
    .join(' ');
}

/** Records the service on a Node under a load; the recording. */
export async function recorded(out, node, load, { busyMs = 4, env = {} } = {}) {
  const flags = ['--quiet', '--no-report', '--no-html', '--out', out, '--on-port', loadOf(load)];
  const args = ['record', ...flags, '--', node.path, SERVICE, `busy=${busyMs}`];
  const { code, stderr } = await runBobtail(args, { env });
  assert.equal(code, 0, stderr);
  return out;
}

/**
 * The answer, or `refused` with the message where the replay without a change is off: on a busy
 * machine the kernel may tell two things in another order than they became ready.
 */
export async function whatIfOrRefused(folder, ...options) {
  const { code, stdout, stderr } = await runBobtail(['whatif', folder, '--json', ...options]);
  if (code === 81) {
    assert.match(stderr, /^bobtail: cannot be replayed: the replay without a change is .* % off/);
    return { refused: stderr };
  }
  assert.equal(code, 0, stderr);
  const answer = JSON.parse(stdout);
  assertValid('whatif', answer);
  return answer;
}

/** The answer. */
export async function whatIf(folder, ...options) {
  const answer = await whatIfOrRefused(folder, ...options);
  assert.equal(answer.refused, undefined);
  return answer;
}
