// Records Etherpad Lite, unmodified, under its published load: an application nobody wrote for us.
//
//   node etherpad/round-trip.mjs [NODE]
//
// Asserts that at most 1 % of the tail's latency stays unattributed, and prints how many requests
// have inferred or lost hops. `npm test` runs it last; the first run installs Etherpad from npm.
import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeBinaries } from '../harness/nodes.mjs';
import { etherpad } from './setup.mjs';

const UNATTRIBUTED_MAX = 0.01;
const here = dirname(fileURLToPath(import.meta.url));
const bobtail = join(here, '..', '..', 'packages', 'bobtail', 'dist', 'cli', 'main.js');

function record(node) {
  const out = join(mkdtempSync(join(tmpdir(), 'bobtail-etherpad-')), 'recording.bobtail');
  const load = `'${process.execPath}' '${join(here, 'load.mjs')}'`;
  const { command, folder } = etherpad(node);
  const args = [
    'record',
    '--no-report',
    '--out',
    out,
    '--warmup',
    '3',
    '--on-port',
    load,
    '--',
    ...command,
  ];
  // Its check for updates asks a server on the internet: a proxy that is not there stops that.
  const env = { ...process.env, NODE_ENV: 'production', https_proxy: 'http://127.0.0.1:9' };
  const stdio = ['ignore', 'ignore', 'inherit'];
  execFileSync(process.execPath, [bobtail, ...args], { cwd: folder, env, stdio });
  return out;
}

function report(out) {
  const options = { encoding: 'utf8', maxBuffer: 1 << 28 };
  return JSON.parse(execFileSync(process.execPath, [bobtail, 'report', out, '--json'], options));
}

function percent(part, whole) {
  return `${((100 * part) / Math.max(1, whole)).toFixed(2)} %`;
}

function verdict({ requests, tail, breakdown, losses }) {
  const all = breakdown.find((row) => row.class === 'tail' && row.route === '*');
  const share = all.unattributedNs / all.latencyNs;
  const { count, complete, inferred, truncated } = requests;
  process.stdout.write(
    `${count} requests: ${complete} complete, ${inferred} with inferred hops ` +
      `(${percent(inferred, count)}), ${truncated} truncated (${percent(truncated, count)})\n` +
      `tail from p${tail.percentile}: ${tail.count} requests, ` +
      `unattributed ${percent(all.unattributedNs, all.latencyNs)}\n` +
      `losses ${JSON.stringify(losses)}\n`,
  );
  return share <= UNATTRIBUTED_MAX;
}

const node = process.argv[2] ?? nodeBinaries()[0];
const out = record(node);
process.stdout.write(`recording ${out}\n`);
if (!verdict(report(out))) {
  process.stdout.write(`more than ${UNATTRIBUTED_MAX * 100} % of the tail is unattributed\n`);
  process.exitCode = 1;
}
