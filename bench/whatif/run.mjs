// Is what `bobtail whatif` predicts what comes? A component of a live service is changed by a known
// factor, between two recordings.
//
//   node bench/whatif/run.mjs --out DIR [--rounds 2] [--node NODE] [--seconds-max 40]
//
// Each recording is a fresh service under the same open load. `again` repeats `first`, so that it
// is known what two recordings of the same differ by. Each cell is written when it is done, so a
// run that was cut off goes on; `node bench/whatif/tables.mjs DIR` prints the comparison.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bobtail, withoutRoot } from '../harness/bobtail.mjs';
import { CELLS } from './cells.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const FIXTURES = join(root, 'packages/bobtail/test/cli/fixtures');

const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    rounds: { type: 'string', default: '2' },
    node: { type: 'string', default: join(root, 'node_modules/node24/bin/node') },
    'seconds-max': { type: 'string', default: '3600' },
  },
});
if (values.out === undefined) {
  process.stderr.write('usage: node bench/whatif/run.mjs --out DIR [--rounds N] [--node NODE]\n');
  process.exit(64);
}

/** Records one cell and asks what its changes would bring; traces are not kept. */
async function measure({ service, load, env, sets = [] }) {
  const folder = mkdtempSync(join(tmpdir(), 'bobtail-bench-whatif-'));
  const out = join(folder, 'recording.bobtail');
  const words = [process.execPath, join(FIXTURES, 'whatif-load.mjs'), 'open', ...load];
  // A path may have spaces in it.
  const onPort = words.map((word) => `'${word}'`).join(' ');
  const flags = ['--quiet', '--no-report', '--no-html', '--out', out, '--on-port', onPort];
  const command = [values.node, join(FIXTURES, 'whatif-service.cjs'), ...service];
  try {
    await bobtail(['record', ...flags, '--', ...command], { env: { ...process.env, ...env } });
    const options = sets.flatMap((one) => ['--set', one]);
    const answer = await bobtail(['whatif', out, '--json', '--tail', '99', ...options]);
    return withoutRoot(JSON.parse(answer));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

mkdirSync(values.out, { recursive: true });
const version = execFileSync(values.node, ['--version'], { encoding: 'utf8' }).trim();
const about = { node: version, cpus: availableParallelism(), cells: CELLS };
writeFileSync(join(values.out, 'about.json'), `${JSON.stringify(about, null, 2)}\n`);
const endMs = performance.now() + Number(values['seconds-max']) * 1000;
for (let round = 1; round <= Number(values.rounds); round++) {
  for (const [name, cell] of Object.entries(CELLS)) {
    const file = join(values.out, `${round}-${name}.json`);
    if (existsSync(file) || performance.now() + cell.seconds * 1000 > endMs) continue;
    writeFileSync(file, `${JSON.stringify(await measure(cell), null, 2)}\n`);
    process.stdout.write(`${file}\n`);
  }
}
