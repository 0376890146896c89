// Measures how fast a recording is analysed, from its file to the report, and how much memory that
// takes, for traces of rising length: memory must not rise with them.
//
// The traces are grown (crates/breakdown/examples/grow_recording.rs): no service is recorded
// for a hundred million events on a machine that has other things to do.
//
//   node bench/analysis/run.mjs [--events 1000000,10000000,100000000] [--rounds 3] [--out DIR]
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { hostText } from '../harness/host.mjs';
import { quartiles } from '../harness/statistics.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '1000000,10000000,100000000' },
    rounds: { type: 'string', default: '3' },
    out: { type: 'string' },
  },
});
const ROUNDS = Number(values.rounds);
const MIB = 2 ** 20;
const EXAMPLE = ['-p', 'bobtail-breakdown', '--example', 'grow_recording'];

function run(command, args) {
  const stdio = ['ignore', 'pipe', 'inherit'];
  return execFileSync(command, args, { cwd: root, stdio, encoding: 'utf8' });
}

const scratch = mkdtempSync(join(tmpdir(), 'bobtail-analysis-'));
const rows = [];
try {
  for (const events of values.events.split(',')) {
    const folder = join(scratch, events);
    const cargo = ['run', '--release', '--quiet', ...EXAMPLE, '--', events, folder];
    const grown = JSON.parse(run('cargo', cargo));
    for (let round = 0; round < ROUNDS; round += 1) {
      const took = run(process.execPath, [join(root, 'bench/analysis/analyse.mjs'), folder]);
      rows.push({ ...grown, round, ...JSON.parse(took) });
    }
    rmSync(folder, { recursive: true });
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

const header = Object.keys(rows[0]);
const csv = [header, ...rows.map((row) => header.map((key) => row[key]))].map((cells) =>
  cells.join(','),
);
const table = [
  '| events | file | million events/s | of CPU time | peak memory | of it before | truncated |',
  '|---|---|---|---|---|---|---|',
];
for (const events of new Set(rows.map((row) => row.events))) {
  const same = rows.filter((row) => row.events === events);
  const rate = (key) => quartiles(same.map((row) => events / row[key] / 1000)).median.toFixed(1);
  const mib = (key) => `${Math.round(Math.max(...same.map((row) => row[key])) / MIB)} MiB`;
  const cells = [events, `${Math.round(same[0].bytes / MIB)} MiB`, rate('wallMs'), rate('cpuMs')];
  table.push(
    `| ${[...cells, mib('peakBytes'), mib('idleBytes'), same[0].truncated].join(' | ')} |`,
  );
}
const machine = hostText();
const summary = `${machine}, Node ${process.version}\n\n${table.join('\n')}\n`;
process.stdout.write(summary);
if (values.out !== undefined) {
  mkdirSync(values.out, { recursive: true });
  writeFileSync(join(values.out, 'raw.csv'), `${csv.join('\n')}\n`);
  writeFileSync(join(values.out, 'summary.md'), summary);
}
