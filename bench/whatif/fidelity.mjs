// Is an unchanged replay as recorded, on every workload? Each planted cause is recorded once and
// replayed without a change; what cannot be replayed is told with the reason.
//
//   node bench/whatif/fidelity.mjs --out DIR [--node NODE] [CAUSE]...
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { causes, expectations, needs, runs } from '../../workloads/harness/causes.mjs';
import { recorded } from '../../workloads/harness/record.mjs';
import { startServices } from '../../workloads/harness/services.mjs';
import { bobtail } from '../harness/bobtail.mjs';

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
/** Exit codes: the recording lacks what a replay needs, or no request is left. */
const REFUSALS = [81, 67];

/** What `whatif` says of a recording. */
async function replayed(folder) {
  try {
    const { requests, percentiles, fidelity } = JSON.parse(
      await bobtail(['whatif', folder, '--json']),
    );
    const { events, recordedNs, off } = fidelity;
    return { requests, events, percentiles, recordedNs, off };
  } catch (error) {
    if (!REFUSALS.includes(error.code)) throw error;
    const [first] = error.stderr.trim().split('\n');
    return { refused: first.replaceAll(folder, 'RECORDING').replace(/^bobtail: /, '') };
  }
}

const row = (...cells) => `| ${cells.join(' | ')} |`;
const names = positionals.length > 0 ? positionals : causes();
const services = await startServices(await needs(names));
const results = [];
try {
  for (const cause of names) {
    const expected = await expectations(cause);
    if (expected.needs?.some((name) => name in services.missing)) continue;
    for (const run of runs(cause, expected)) {
      const environment = { ...services.environment, ...run.environment };
      const told = await recorded({ ...run, node: values.node, environment }, ({ folder }) => {
        return replayed(folder);
      });
      results.push({ run: run.title, ...told });
      process.stderr.write(`${run.title}: ${told.refused ?? JSON.stringify(told.off)}\n`);
    }
  }
} finally {
  await services.stop();
}
mkdirSync(values.out, { recursive: true });
const version = execFileSync(values.node, ['--version'], { encoding: 'utf8' }).trim();
const lines = results.map((one) => `${JSON.stringify(one)}\n`);
writeFileSync(join(values.out, 'fidelity.jsonl'), lines.join(''));
const cells = results.map(({ run, requests, events, percentiles, off, refused }) => {
  if (refused !== undefined) return row(run, '', '', refused);
  const told = percentiles.map((one) => `p${one} ${(off[one] * 100).toFixed(2)} %`);
  return row(run, requests, events, told.join(', '));
});
const table = [
  row('recording', 'requests', 'events', 'off'),
  row('---', '---', '---', '---'),
  ...cells,
];
const about = `Node ${version}, ${cpus()[0].model}, ${cpus().length} CPUs, Linux ${release()}`;
writeFileSync(join(values.out, 'tables.md'), `${about}\n\n${table.join('\n')}\n`);
