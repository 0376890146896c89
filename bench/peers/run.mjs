// Compares what recording costs with what other tools cost: CPU time per request of the service's
// process, and latency at a fixed rate, for the same services on the same Nodes.
//
//   node bench/peers/run.mjs [--quick] [--node PATH]… [--service NAME]… [--arm NAME]…
//     [--rounds 10] [--slice-ms 800] [--rate N] [--lock FILE] [--out DIR]
//
// Installs the tools into folders of their own first (bench/peers/current, bench/peers/node20).
// Without --node: the Node versions that the repository's tests use. The tables are made from the
// raw data by `node bench/peers/table.mjs DIR…`.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { nodeBinaries } from '../../workloads/harness/nodes.mjs';
import { startServices } from '../../workloads/harness/services.mjs';
import { LOAD_CORE, pin } from '../harness/cpu.mjs';
import { hostText } from '../harness/host.mjs';
import { LatencyHistogram } from '../harness/latency-histogram.mjs';
import { ARMS, toolsFolder, toolVersions } from './arms.mjs';
import { measureCell, SERVICES } from './cell.mjs';
import { tables } from './table.mjs';

const DEFAULT_ARMS = Object.keys(ARMS).filter((name) => name !== 'dd-profile');
const text = (fallback) => ({ type: 'string', default: fallback });
const list = { type: 'string', multiple: true };
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    node: list,
    service: list,
    arm: list,
    rounds: text('10'),
    'slice-ms': text('800'),
    'warm-ms': text('2000'),
    rate: { type: 'string' },
    lock: { type: 'string' },
    out: { type: 'string' },
  },
});

function say(line) {
  process.stderr.write(`${line}\n`);
}

/** Installs the tools for a Node version once; they stay out of the project's own install. */
function install(major) {
  const cwd = toolsFolder(major);
  if (existsSync(join(cwd, 'node_modules'))) return;
  say(`installing the tools into ${cwd}`);
  execFileSync('npm', ['install', '--no-audit', '--no-fund'], { cwd, stdio: 'inherit' });
}

function settings() {
  const quick = { rounds: 2, sliceMs: 250, warmMs: 400, drainMs: 300 };
  const whole = {
    rounds: Number(values.rounds),
    sliceMs: Number(values['slice-ms']),
    warmMs: Number(values['warm-ms']),
  };
  return {
    ...(values.quick ? quick : whole),
    ratePerS: values.rate && Number(values.rate),
    lock: values.lock,
  };
}

/** Three files a cell: what each slice cost, the latencies of each arm, and how it was measured. */
function save(out, name, { rows }, about) {
  const slices = rows.map(({ round, arm, cpuUs, insideNs, latencies, failed, unanswered }) => {
    const insideUs = insideNs / 1000 / latencies.count;
    const costs = [cpuUs.toFixed(3), insideUs.toFixed(3)];
    return [round, arm, ...costs, latencies.count, failed, unanswered].join(',');
  });
  const pooled = new Map();
  for (const { arm, latencies } of rows) {
    pooled.set(arm, `${pooled.get(arm) ?? ''} ${latencies.toText()}`);
  }
  const latencies = [...pooled].map(
    ([arm, buckets]) => `${arm},${LatencyHistogram.fromText(buckets).toText()}`,
  );
  const write = (file, lines) => writeFileSync(join(out, file), `${lines.join('\n')}\n`);
  mkdirSync(out, { recursive: true });
  const head = 'round,arm,cpu_us,cpu_us_inside,requests,failed,unanswered';
  write(`${name}.csv`, [head, ...slices]);
  write(`${name}.latency.csv`, ['arm,latency_buckets', ...latencies]);
  write(`${name}.json`, [JSON.stringify(about, null, 2)]);
}

async function run(out) {
  pin(process.pid, LOAD_CORE);
  const services = values.service ?? Object.keys(SERVICES);
  const names = values.arm ?? DEFAULT_ARMS;
  const databases = await startServices(services.includes('database') ? ['postgres'] : []);
  for (const reason of Object.values(databases.missing)) say(`no database: ${reason}`);
  try {
    for (const node of values.node ?? nodeBinaries()) {
      const version = execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' });
      const major = Number.parseInt(version, 10);
      install(major);
      for (const service of services) {
        if (service === 'database' && databases.missing.postgres) continue;
        say(`Node ${version.trim()}, ${service}`);
        const options = { ...settings(), progress: say };
        const { environment } = databases;
        const cell = await measureCell(names, { node, major, service, environment, options });
        const { ratePerS, missing, delivered } = cell;
        const host = hostText();
        const tools = toolVersions(major);
        const { rounds, sliceMs } = options;
        const measured = { rounds, sliceMs, ratePerS };
        const about = {
          node: version.trim(),
          service,
          host,
          tools,
          ...measured,
          missing,
          delivered,
        };
        save(out, `node${major}-${service}`, cell, about);
      }
    }
  } finally {
    await databases.stop();
  }
}

const out = values.out ?? join('bench', 'runs', `${new Date().toISOString().slice(0, 10)}-peers`);
await run(out);
const markdown = tables([out]);
writeFileSync(join(out, 'tables.md'), markdown);
process.stdout.write(markdown);
