// Counts what a turn of a service executes between two bursts, beside what it executes unrecorded
// and recorded: instructions of user space, as valgrind counts them. Not time, which varies by more
// than what is looked for.
//
//   node bench/bursts/run.mjs [NODE]...
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const preload = join(here, '../../packages/bobtail/dist/agent/preload.js');
/** The difference between both is turns and nothing else. */
const TIMES = [1_000, 3_000];

const recorded = { NODE_OPTIONS: `--require "${preload}"` };
const ARMS = {
  unrecorded: {},
  // One burst of 1 ms, and the next in an hour.
  between: { ...recorded, BOBTAIL_BURSTS: '3600000/1' },
  recorded,
  'unrecorded again': {},
};

/**
 * Instructions of a run. Without what is not the same in each turn: optimizing compilers, and
 * collections, of which a few more in one arm are as much as all that is looked for.
 */
function instructions(node, environment, times) {
  const out = mkdtempSync(join(tmpdir(), 'bobtail-bursts-'));
  const env = { ...process.env, ...environment, BOBTAIL_DIR: out };
  const compile = ['--no-opt', '--no-sparkplug', '--single-threaded', '--hash-seed=1'];
  const flags = [...compile, '--min-semi-space-size=256', '--max-semi-space-size=256'];
  const callgrind = [
    '--tool=callgrind',
    '--smc-check=all-non-file',
    '--callgrind-out-file=/dev/null',
  ];
  try {
    const args = [...callgrind, node, ...flags, join(here, 'service.cjs'), String(times)];
    const run = spawnSync('valgrind', args, { env, encoding: 'utf8' });
    if (run.status !== 0) throw new Error(`valgrind ended with ${run.status}\n${run.stderr}`);
    return Number(/Collected : (\d+)/.exec(run.stderr)[1]);
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

for (const node of process.argv.length > 2 ? process.argv.slice(2) : [process.execPath]) {
  const version = spawnSync(node, ['-v'], { encoding: 'utf8' }).stdout.trim();
  for (const [arm, environment] of Object.entries(ARMS)) {
    const [few, many] = TIMES.map((times) => instructions(node, environment, times));
    const each = (many - few) / (TIMES[1] - TIMES[0]);
    process.stdout.write(`${version} ${arm}: ${Math.round(each)} instructions a turn\n`);
  }
}
