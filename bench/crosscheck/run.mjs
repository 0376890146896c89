// Compares Bobtail's shares of gc, jit, ic and native time with those of a sampling profiler that
// watched the same thread in the same run. Needs perf(1), and cargo for the text form of a trace.
//
//   node bench/crosscheck/run.mjs [--node PATH]… [--program NAME]… [--seconds 12] [--lock FILE]
//     [--v8-flag=--single-threaded]… [--keep DIR [--record-only]] [--kept DIR] [--out FILE]
//
// Where comparing would disturb others, `--record-only` leaves it to a later run with `--kept`.
// Ends with 1 where a share differs too much.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { nodeBinaries } from '../../workloads/harness/nodes.mjs';
import { quietly } from '../harness/quiet.mjs';
import { compare, table } from './compare.mjs';
import { readSegments } from './measured.mjs';
import { readSamples } from './samples.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const bobtail = join(here, '../../packages/bobtail/dist/cli/main.js');
const PROGRAMS = ['collections', 'compilation', 'shapes'];
const RECORDING = 'recording.bobtail';
const SAMPLES = 'perf.data';
const { values } = parseArgs({
  options: {
    node: { type: 'string', multiple: true },
    program: { type: 'string', multiple: true },
    seconds: { type: 'string', default: '12' },
    'v8-flag': { type: 'string', multiple: true, default: [] },
    lock: { type: 'string' },
    keep: { type: 'string' },
    'record-only': { type: 'boolean', default: false },
    kept: { type: 'string' },
    out: { type: 'string' },
  },
});

/** Records `program` under load; samples go to `perf.data` beside the recording. */
async function record({ node, program, folder }) {
  const out = join(folder, RECORDING);
  const load = `'${process.execPath}' '${join(here, 'drive.mjs')}'`;
  const target = [node, ...values['v8-flag'], join(here, 'programs', `${program}.cjs`)];
  const flags = ['--quiet', '--no-report', '--out', out, '--on-port', load];
  const command = [process.execPath, bobtail, 'record', ...flags, '--', ...target];
  const env = {
    ...process.env,
    CROSSCHECK_PERF: join(folder, SAMPLES),
    CROSSCHECK_MS: String(Number(values.seconds) * 1000),
  };
  const stdio = ['ignore', 'ignore', 'inherit'];
  const child = spawn(command[0], command.slice(1), { env, stdio });
  await once(child, 'exit');
}

function versionOf(node) {
  return execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim();
}

async function recordIn(folder, node, program) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await quietly(values.lock, () => record({ node, program, folder }));
}

async function compareIn(folder, node, program) {
  const measured = await readSegments(join(folder, RECORDING));
  const result = compare(readSamples(join(folder, SAMPLES)), measured);
  process.stderr.write(`Node ${node}, ${program}: ${result.samples} samples\n`);
  return { node, program, ...result };
}

/** One cell; undefined where it is only recorded. */
async function check(node, program) {
  const version = versionOf(node);
  const name = `${version}-${program}`;
  if (values.kept) return compareIn(join(values.kept, name), version, program);
  const folder = values.keep
    ? join(values.keep, name)
    : mkdtempSync(join(tmpdir(), 'bobtail-crosscheck-'));
  try {
    await recordIn(folder, node, program);
    return values['record-only'] ? undefined : await compareIn(folder, version, program);
  } finally {
    if (!values.keep) rmSync(folder, { recursive: true, force: true });
  }
}

const results = [];
for (const node of values.node ?? nodeBinaries()) {
  for (const program of values.program ?? PROGRAMS) {
    const result = await check(node, program);
    if (result !== undefined) results.push(result);
  }
}
if (!values['record-only']) {
  const { markdown, agrees } = table(results);
  process.stdout.write(markdown);
  process.exitCode = agrees ? 0 : 1;
}
if (values.out) {
  mkdirSync(dirname(values.out), { recursive: true });
  writeFileSync(values.out, `${JSON.stringify(results, null, 1)}\n`);
}
