/** Runs the built command line as users do: as a process, with its streams and its end. */
import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeFolder } from '../../dist/cli/boost/remove-folder.js';

export const PACKAGE = join(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '../..');
export const MAIN = join(PACKAGE, 'dist/cli/main.js');
export const SERVER = join(PACKAGE, 'test/cli/fixtures/server.mjs');

const PRESERVE_SYMLINKS = ['--preserve-symlinks', '--preserve-symlinks-main'];

const RUN_MS_MAX = 60_000;

/** A folder that is removed after the test. */
export function makeFolder(test) {
  const folder = mkdtempSync(join(tmpdir(), 'bobtail test '));
  // What the test started may be putting its own things away in there.
  test.after(() => removeFolder(folder));
  return folder;
}

/**
 * A started command line; `until(pattern)` waits for a text or a regular expression in its output
 * and resolves to the output, `ended` waits for its end.
 */
export function startBobtail(args, { cwd, env = {}, detached = false, main = MAIN } = {}) {
  const child = spawn(
    process.execPath,
    [...(main === MAIN ? [] : PRESERVE_SYMLINKS), main, ...args],
    {
      cwd,
      env: { ...process.env, NO_COLOR: '1', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached,
    },
  );
  const seen = { stdout: '', stderr: '' };
  let wake = () => undefined;
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8').on('data', (text) => {
      seen[name] += text;
      wake();
    });
  }
  const ended = new Promise((resolve, reject) => {
    child.on('close', (code, signal) => resolve({ code, signal, ...seen }));
    const tooLong = () => reject(new Error(`still running: ${JSON.stringify(seen)}`));
    setTimeout(tooLong, RUN_MS_MAX).unref();
  });
  const until = async (pattern) => {
    const deadline = Date.now() + 20_000;
    const said = (text) =>
      typeof pattern === 'string' ? text.includes(pattern) : pattern.test(text);
    for (;;) {
      const output = [seen.stdout, seen.stderr].find(said);
      if (output !== undefined) {
        return output;
      }
      if (Date.now() > deadline || child.exitCode !== null) {
        throw new Error(`never said ${pattern}: ${JSON.stringify(seen)}`);
      }
      await Promise.race([
        new Promise((resolve) => {
          wake = resolve;
        }),
        new Promise((resolve) => setTimeout(resolve, 200)),
      ]);
    }
  };
  return { child, ended, until };
}

/** Runs to the end. */
export function runBobtail(args, options) {
  return startBobtail(args, options).ended;
}
