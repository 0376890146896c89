// Whether an answer that was written on one machine comes of the same recording on others: the
// golden answers of `crates/sim/tests/golden.rs`, on processors that are not here.
//
//   node bench/whatif/other-machines.mjs [--out DIR]
//
// Needs rustup, which fetches each target's library, and for 64-bit ARM Debian's qemu-user and
// gcc-aarch64-linux-gnu. WebAssembly has a word of 32 bits and no threads, so it answers for one
// loop only; Node's own WASI runs it, and V8 makes code of its own of it. ARM is emulated, by qemu:
// another instruction set, compiled by another backend.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { hostText } from '../harness/host.mjs';

const root = join(import.meta.dirname, '../..');
const TARGETS = [
  {
    target: 'wasm32-wasip1',
    runner: `node --no-warnings ${join(import.meta.dirname, 'wasi.mjs')}`,
    tests: ['an_answer_is_the_same_on_every_machine'],
  },
  {
    target: 'aarch64-unknown-linux-gnu',
    runner: 'qemu-aarch64 -L /usr/aarch64-linux-gnu',
    linker: 'aarch64-linux-gnu-gcc',
    tests: ['an_answer_is_the_same_on_every_machine', 'an_answer_of_two_loops_is_the_same'],
  },
];

const { values } = parseArgs({ options: { out: { type: 'string' } } });

/** Runs the golden tests as that target, and says which passed. */
function answers({ target, runner, linker, tests }) {
  execFileSync('rustup', ['target', 'add', target], { cwd: root, stdio: 'inherit' });
  const name = target.toUpperCase().replaceAll('-', '_');
  const env = {
    ...process.env,
    [`CARGO_TARGET_${name}_RUNNER`]: runner,
    ...(linker === undefined ? {} : { [`CARGO_TARGET_${name}_LINKER`]: linker }),
  };
  const build = ['test', '--profile', 'tested', '--target', target, '-p', 'bobtail-sim'];
  const run = spawnSync('cargo', [...build, '--test', 'golden', '--', ...tests], {
    cwd: root,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (run.error) throw run.error;
  const passed = [...run.stdout.matchAll(/^test (\S+) \.\.\. ok$/gm)].map(([, test]) => test);
  if (run.status !== 0 || passed.length !== tests.length) {
    throw new Error(`${target}: ${passed.length} of ${tests.length} passed\n${run.stdout}`);
  }
  return { target, passed };
}

const told = TARGETS.map((one) => {
  const row = answers(one);
  process.stdout.write(`${row.target}: as written, ${row.passed.join(', ')}\n`);
  return row;
});
if (values.out !== undefined) {
  mkdirSync(values.out, { recursive: true });
  const about = {
    host: hostText(),
    rustc: execFileSync('rustc', ['--version'], { encoding: 'utf8' }).trim(),
    told,
  };
  writeFileSync(join(values.out, 'about.json'), `${JSON.stringify(about, null, 2)}\n`);
}
