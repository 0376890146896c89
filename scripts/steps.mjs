// Runs one step of a script as a child process, says what runs and how long it took, and stops the
// script at the first failure: a build or test that goes on after a failed step hides it.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The repository's root folder. */
export const root = fileURLToPath(new URL('..', import.meta.url));

/** All steps together take less; a step that waits for what never comes must not wait for ever. */
const STEP_LIMIT_MS = 30 * 60_000;

/**
 * Runs `command` in the repository root with inherited output; it ends with this process.
 * @param {string} title what the step is for, shown on stderr
 * @param {string} command
 * @param {string[]} args
 * @param {{env?: Record<string, string>, quiet?: boolean}} [options]
 */
export async function step(title, command, args, options = {}) {
  const startedMs = Date.now();
  process.stderr.write(`» ${title}\n`);
  const child = spawn(command, args, {
    cwd: root,
    stdio: 'inherit',
    timeout: STEP_LIMIT_MS,
    env: { ...process.env, ...options.env },
  });
  const abandon = () => child.kill();
  process.once('exit', abandon);
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (exitCode, signal) => resolve(signal ?? exitCode));
  });
  process.off('exit', abandon);
  const seconds = ((Date.now() - startedMs) / 1000).toFixed(1);
  if (code !== 0) {
    process.stderr.write(`✗ ${title} failed with ${code} after ${seconds} s\n`);
    process.exit(typeof code === 'number' ? code : 1);
  }
  process.stderr.write(`✓ ${title} ${seconds} s\n`);
}
