// Measures whether code caches start a program as fast with the recorder as without: a large
// script of the program's own (`vm.Script` with cachedData), and Node's own modules, in processes
// that are started in turns.
//
//   node bench/code-cache/run.mjs [--node PATH]… [--rounds 30] [--lock FILE] [--out FILE]
//
// A refused cache does not fail, it is compiled anew: so the time is judged, and beside it the same
// without a cache, which is what a refusal would cost.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { nodeBinaries } from '../../workloads/harness/nodes.mjs';
import { quietly } from '../harness/quiet.mjs';
import { medianInterval, shuffled } from '../harness/statistics.mjs';

const run = promisify(execFile);
const program = fileURLToPath(new URL('program.cjs', import.meta.url));
const bobtail = fileURLToPath(new URL('../../packages/bobtail/dist/cli/main.js', import.meta.url));
/** What is told of a process: milliseconds of CPU, so that others on the machine do not count. */
const PARTS = ['scriptMs', 'modulesMs'];
/** Each with and without the recorder; `again` is `plain` once more, for the noise. */
const ARMS = ['plain', 'again', 'recorded', 'refused'];
const { values } = parseArgs({
  options: {
    node: { type: 'string', multiple: true },
    rounds: { type: 'string', default: '30' },
    lock: { type: 'string' },
    out: { type: 'string' },
  },
});

/** One start of the program; gives what it measured itself. */
async function start(node, arm, folder) {
  const cache = arm === 'refused' ? 'none' : join(folder, 'script.cache');
  const target = [node, program, join(folder, 'script.js'), cache];
  const out = join(folder, 'recording.bobtail');
  const flags = ['record', '--quiet', '--no-report', '--no-html', '--out', out, '--'];
  const command = arm === 'recorded' ? [process.execPath, bobtail, ...flags, ...target] : target;
  const { stdout } = await run(command[0], command.slice(1));
  rmSync(out, { recursive: true, force: true });
  const told = JSON.parse(stdout);
  if (told.accepted !== (arm !== 'refused')) throw new Error(`${arm}: accepted ${told.accepted}`);
  return told;
}

async function measure(node) {
  const folder = mkdtempSync(join(tmpdir(), 'bobtail-code-cache-'));
  try {
    await run(node, [program, join(folder, 'script.js'), join(folder, 'script.cache'), 'make']);
    const rounds = [];
    for (let round = 0; round < Number(values.rounds); round += 1) {
      const told = {};
      for (const arm of shuffled(ARMS)) told[arm] = await start(node, arm, folder);
      rounds.push(told);
    }
    return rounds;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Median of an arm, and its ratio to `plain` of the same round with its interval. */
function table(version, rounds) {
  const fixed = (number) => number.toFixed(2);
  return PARTS.flatMap((part) =>
    ARMS.map((arm) => {
      const { median } = medianInterval(rounds.map((round) => round[arm][part]));
      const ratio = medianInterval(rounds.map((round) => round[arm][part] / round.plain[part]));
      const interval = `${fixed(ratio.median)} [${fixed(ratio.low)}–${fixed(ratio.high)}]`;
      return `| ${version} | ${part} | ${arm} | ${fixed(median)} | ${interval} |`;
    }),
  );
}

const lines = ['| Node | what | arm | ms of CPU | to plain |', '|---|---|---|---|---|'];
const raw = {};
for (const node of values.node ?? nodeBinaries()) {
  const { stdout } = await run(node, ['--version']);
  const version = stdout.trim();
  raw[version] = await quietly(values.lock, () => measure(node));
  lines.push(...table(version, raw[version]));
}
process.stdout.write(`${lines.join('\n')}\n`);
if (values.out) writeFileSync(values.out, `${JSON.stringify(raw)}\n`);
