// Builds everything a user runs: npm dependencies, both native modules, the TypeScript packages.
// One script instead of a chain of npm hooks, so that `npm test`, `npm run demo` and a fresh clone
// take the same path, and every step prints what it does and how long it took.
import { existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root, step } from './steps.mjs';

/** True when `npm install` has to run: nothing installed, or the lock file is newer. */
function needsInstall() {
  const marker = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(marker)) return true;
  return statSync(join(root, 'package-lock.json')).mtimeMs > statSync(marker).mtimeMs;
}

export async function build() {
  // Not `npm ci`: it refuses a lock file made where a registry lacks another platform's binary.
  const install = ['install', '--no-audit', '--no-fund'];
  if (needsInstall()) await step('install npm packages', 'npm', install);
  // The Nodes that tests record are packages with a command `node`; npm puts it first on the path.
  rmSync(join(root, 'node_modules', '.bin', 'node'), { force: true });
  await step('build native modules', process.execPath, [
    'packages/bobtail/scripts/build-native.mjs',
  ]);
  await step('build TypeScript', 'npm', ['run', '--silent', 'build', '-w', 'packages/bobtail']);
  await step('build the HTML report', 'npm', [
    'run',
    '--silent',
    'build',
    '-w',
    'bobtail-report-ui',
  ]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build();
