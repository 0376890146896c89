// Runs the probe's own tests under valgrind's memcheck: invalid reads and writes, use of memory
// that was never set. Not part of the CI, because valgrind is not everywhere.
//
// Tests of the kernel's switches and of this executable's own symbols are left out: valgrind does
// not hand on `perf_event_open`, and is the executable itself.
import { execFileSync, spawnSync } from 'node:child_process';
import { root } from './steps.mjs';

const BUILD = ['test', '-p', 'bobtail-probe', '--lib', '--no-run', '--message-format=json'];
const LEFT_OUT = ['switches', 'symbols'].flatMap((name) => ['--skip', name]);

const messages = execFileSync('cargo', BUILD, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 });
const binary = messages
  .split('\n')
  .filter((line) => line.startsWith('{'))
  .map((line) => JSON.parse(line).executable)
  .find((path) => typeof path === 'string');
const run = spawnSync(
  'valgrind',
  ['--quiet', '--error-exitcode=9', binary, '--test-threads=1', ...LEFT_OUT],
  { stdio: 'inherit' },
);
if (run.error !== undefined) process.stderr.write(`memcheck: ${run.error.message}\n`);
process.exit(run.status ?? 1);
