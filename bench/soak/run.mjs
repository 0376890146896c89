// Soaks the hooks in V8: four workers that come and go under flags that make V8 collect, move and
// compile far more often than it would; the process must neither crash nor lose a piece of work.
//
//   node bench/soak/run.mjs [--node PATH] [--addon PATH] [--seconds 600] [--sets 8]
//
// The seconds are divided among the first so many sets of flags. Exits with 1 when one failed.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const folder = fileURLToPath(new URL('.', import.meta.url));
const { values } = parseArgs({
  options: {
    node: { type: 'string', default: process.execPath },
    addon: {
      type: 'string',
      default: join(folder, '../../packages/bobtail/native/bobtail-probe.node'),
    },
    seconds: { type: 'string', default: '600' },
    sets: { type: 'string', default: '8' },
  },
});
const FLAGS = [
  ['--stress-compaction', '--stress-scavenge=50'],
  ['--always-sparkplug', '--single-threaded'],
  [],
  ['--stress-compaction', '--no-lazy-feedback-allocation'],
  ['--gc-interval=300'],
  ['--stress-incremental-marking'],
  ['--jitless'],
  ['--single-threaded', '--jitless'],
  ['--always-sparkplug', '--max-semi-space-size=1'],
];

/** Runs the load with some flags; gives what it told, or how it failed. */
function soak(flags, seconds) {
  const out = mkdtempSync(join(tmpdir(), 'bobtail-soak-'));
  const args = [...flags, join(folder, 'load.cjs'), values.addon, out, String(seconds)];
  const child = spawn(values.node, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (data) => (stdout += data));
  child.stderr.on('data', (data) => (stderr += data));
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      rmSync(out, { recursive: true, force: true });
      if (code !== 0) resolve({ failure: `code ${code} signal ${signal}\n${stderr}` });
      else resolve(JSON.parse(stdout.trim().split('\n').at(-1)));
    });
  });
}

/** What is wrong with a result, one line each. */
function problems({ failure, mechanisms, errors, seen, isSameTag }) {
  if (failure) return [failure];
  const off = mechanisms.filter(({ ok, name }) => !ok && /^(gc|v8\.)/.test(name));
  return [
    ...off.map(({ name, reason }) => `${name} is unavailable: ${reason}`),
    ...errors,
    ...(seen.unbalanced > 0 ? [`${seen.unbalanced} unbalanced`] : []),
    ...(isSameTag ? [] : ['the tag of the code cache changed']),
  ];
}

const sets = FLAGS.slice(0, Number(values.sets));
let failures = 0;
for (const flags of sets) {
  const result = await soak(flags, Number(values.seconds) / sets.length);
  const found = problems(result);
  const name = flags.join(' ') || '(no flags)';
  const calls = Object.values(result.seen?.calls ?? {}).reduce((sum, count) => sum + count, 0);
  const told = `${result.started ?? 0} workers, ${calls} calls on the main thread`;
  process.stdout.write(`${found.length === 0 ? 'ok  ' : 'FAIL'} ${name}: ${told}\n`);
  for (const problem of found) process.stdout.write(`     ${problem}\n`);
  failures += found.length;
}
process.exitCode = failures === 0 ? 0 : 1;
