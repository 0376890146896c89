// Is an unchanged replay as recorded, on every workload? Each planted cause is recorded once and
// replayed without a change, request by request: most have too few for a percentile. What cannot be
// replayed is told with the reason. A request that moved by more than 2 % ends it with 1, as does a
// recording that cannot be replayed, or a run of which no loop answered anybody.
//
//   cargo build --profile tested -p bobtail-sim --examples
//   node bench/whatif/fidelity.mjs --out DIR [--node NODE] [CAUSE]...
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { builtExample } from '../../workloads/harness/built-example.mjs';
import { causes, expectations, needs, runs } from '../../workloads/harness/causes.mjs';
import { recorded } from '../../workloads/harness/record.mjs';
import { startServices } from '../../workloads/harness/services.mjs';
import { hostText } from '../harness/host.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    out: { type: 'string' },
    node: { type: 'string', default: join(root, 'node_modules/node24/bin/node') },
  },
});
if (values.out === undefined) {
  process.stderr.write('usage: node bench/whatif/fidelity.mjs --out DIR [CAUSE]...\n');
  process.exit(64);
}
const conformance = builtExample('conformance');

/** Of each trace of a recording: how many of its requests moved by more than 2 %. */
function replayed(folder) {
  const traces = readdirSync(folder).filter((name) => name.endsWith('.trace'));
  const told = execFileSync(conformance, traces, { cwd: folder, encoding: 'utf8' });
  const lines = told.trim().split('\n').slice(1);
  return lines.map((line) => {
    const cells = line.split(' | ');
    if (cells.length < 5) return { refused: line.replace(/^\S+: /, '') };
    const [, requests, events, off, moved] = cells;
    return { requests: Number(requests), events: Number(events), off, moved: Number(moved) };
  });
}

const row = (...cells) => `| ${cells.join(' | ')} |`;
const names = positionals.length > 0 ? positionals : causes();
const services = await startServices(await needs(names));
const results = [];
try {
  for (const cause of names) {
    const expected = await expectations(cause);
    const missing = expected.needs?.find((name) => name in services.missing);
    if (missing !== undefined) {
      const refused = `not recorded: ${services.missing[missing]}`;
      results.push({ run: cause, refused, isMissing: true });
      continue;
    }
    for (const run of runs(cause, expected)) {
      const environment = { ...services.environment, ...run.environment };
      const all = await recorded({ ...run, node: values.node, environment }, ({ folder }) => {
        return replayed(folder);
      });
      const own = all.length > 0 ? all : [{ refused: 'no trace' }];
      results.push(...own.map((told) => ({ run: run.title, ...told })));
      process.stderr.write(`${run.title}: ${JSON.stringify(own)}\n`);
    }
  }
} finally {
  await services.stop();
}
mkdirSync(values.out, { recursive: true });
const version = execFileSync(values.node, ['--version'], { encoding: 'utf8' }).trim();
const lines = results.map((one) => `${JSON.stringify(one)}\n`);
writeFileSync(join(values.out, 'fidelity.jsonl'), lines.join(''));
const cells = results.map(({ run, requests, events, off, moved, refused }) => {
  return refused === undefined
    ? row(run, requests, events, moved, off)
    : row(run, '', '', '', refused);
});
const head = [
  'recording',
  'requests',
  'events',
  'moved by more than 2 %',
  'off at p50, p99, p99.9',
];
const table = [row(...head), row(...head.map(() => '---')), ...cells];
const about = `Node ${version}, ${hostText()}`;
writeFileSync(join(values.out, 'tables.md'), `${about}\n\n${table.join('\n')}\n`);
/** Loops that answered nobody are no fault of a replay, where another of the same run did. */
const isReplayed = ({ run }) => results.some((one) => one.run === run && one.requests > 0);
const isFault = (one) => !(/^nothing to replay\b/.test(one.refused) && isReplayed(one));
const isOff = (one) => {
  if (one.isMissing) return false;
  return one.moved > 0 || (one.refused !== undefined && isFault(one));
};
const notAsRecorded = results.filter(isOff).length;
process.stderr.write(`${notAsRecorded} of ${results.length} are not as recorded\n`);
if (notAsRecorded > 0) process.exitCode = 1;
