// Builds the native parts and puts them where the package loads them from: two modules, and the
// program that has levers in its hand.
//
// A cargo run each, because they differ in what a panic may do: inside the observed process it can
// only abort, while in the command line it must come back as an error with an exit code.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const packageFolder = fileURLToPath(new URL('..', import.meta.url));
const workspaceFolder = join(packageFolder, '../..');
const nativeFolder = join(packageFolder, 'native');

/** All, or those named on the command line. */
const wanted = process.argv.slice(2);

const MODULES = [
  { crate: 'bobtail-probe', cargoOptions: [] },
  { crate: 'bobtail-binding', cargoOptions: ['--config', 'profile.release.panic="unwind"'] },
  { crate: 'bobtail-daemon', cargoOptions: ['--bin', 'bobtaild'], program: 'bobtaild' },
];

/** Builds one crate and returns the path of its library or program, as cargo tells it. */
function build({ crate, cargoOptions, program }) {
  const run = spawnSync(
    'cargo',
    [
      'build',
      '--release',
      '--package',
      crate,
      '--message-format=json-render-diagnostics',
      ...cargoOptions,
    ],
    { cwd: workspaceFolder, stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 2 ** 28 },
  );
  if (run.error !== undefined || run.status !== 0) {
    process.stderr.write(`build-native: cargo failed for ${crate}: ${run.error ?? run.status}\n`);
    process.exit(run.status || 1);
  }
  const target = program ?? crate.replaceAll('-', '_');
  const built = String(run.stdout)
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .filter((message) => message.reason === 'compiler-artifact' && message.target.name === target);
  const file =
    program === undefined
      ? built.flatMap((message) => message.filenames).find((name) => /\.(so|dylib|dll)$/.test(name))
      : built.map((message) => message.executable).find((name) => name !== null);
  if (file === undefined) {
    process.stderr.write(`build-native: cargo built no ${target} of ${crate}\n`);
    process.exit(1);
  }
  return file;
}

/** By rename: a process that has the old file mapped must keep it whole. */
function place(file, name) {
  const path = join(nativeFolder, name);
  copyFileSync(file, `${path}.tmp`);
  renameSync(`${path}.tmp`, path);
}

mkdirSync(nativeFolder, { recursive: true });
for (const module of MODULES) {
  if (wanted.length > 0 && !wanted.includes(module.crate)) continue;
  place(build(module), module.program ?? `${module.crate}.node`);
}
