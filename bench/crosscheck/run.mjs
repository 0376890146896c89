// Compares Bobtail's shares of gc, jit, ic and native time with those of a sampling profiler that
// watched the same thread in the same run. Needs perf(1), and cargo for the text form of a trace.
//
//   node bench/crosscheck/run.mjs [--node PATH]… [--program NAME]… [--seconds 12] [--lock FILE]
//     [--v8-flag=--single-threaded]… [--keep DIR] [--out FILE]
//
// With `--single-threaded` V8 collects and compiles on the thread itself: nothing is hidden then.
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
const { values } = parseArgs({
  options: {
    node: { type: 'string', multiple: true },
    program: { type: 'string', multiple: true },
    seconds: { type: 'string', default: '12' },
    'v8-flag': { type: 'string', multiple: true, default: [] },
    lock: { type: 'string' },
    keep: { type: 'string' },
    out: { type: 'string' },
  },
});

/** Records `program` under load; samples go to `perf.data` beside the recording. */
async function record({ node, program, folder }) {
  const out = join(folder, 'recording.bobtail');
  const load = `'${process.execPath}' '${join(here, 'drive.mjs')}'`;
  const target = [node, ...values['v8-flag'], join(here, 'programs', `${program}.cjs`)];
  const flags = ['--quiet', '--no-report', '--out', out, '--on-port', load];
  const command = [process.execPath, bobtail, 'record', ...flags, '--', ...target];
  const env = {
    ...process.env,
    CROSSCHECK_PERF: join(folder, 'perf.data'),
    CROSSCHECK_MS: String(Number(values.seconds) * 1000),
  };
  const stdio = ['ignore', 'ignore', 'inherit'];
  const child = spawn(command[0], command.slice(1), { env, stdio });
  const [code] = await once(child, 'exit');
  return { out, samples: env.CROSSCHECK_PERF, code };
}

async function check(node, program) {
  const version = execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim();
  const folder = values.keep
    ? join(values.keep, `${version}-${program}`)
    : mkdtempSync(join(tmpdir(), 'bobtail-crosscheck-'));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  try {
    const recorded = await quietly(values.lock, () => record({ node, program, folder }));
    const measured = await readSegments(recorded.out);
    const result = compare(readSamples(recorded.samples), measured);
    process.stderr.write(`Node ${version}, ${program}: ${result.samples} samples\n`);
    return { node: version, program, ...result };
  } finally {
    if (!values.keep) rmSync(folder, { recursive: true, force: true });
  }
}

const results = [];
for (const node of values.node ?? nodeBinaries()) {
  for (const program of values.program ?? PROGRAMS) results.push(await check(node, program));
}
const markdown = table(results);
process.stdout.write(markdown);
if (values.out) {
  mkdirSync(dirname(values.out), { recursive: true });
  writeFileSync(values.out, `${JSON.stringify(results, null, 1)}\n`);
}
