// Rubik and Adrenaline beside the paper's schemes and their bounds, in replays of planted causes.
//
//   node bench/whatif/prior.mjs --out DIR [--node NODE] [--only NAME]
//
// Each service of workloads/ is recorded under an open load of its own, and replayed under every
// scheme; the answers are kept in DIR, of which the table is made. A run that was cut off goes on.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bobtail, recordWhole } from '../harness/bobtail.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const LOAD = join(root, 'packages/bobtail/test/cli/fixtures/whatif-load.mjs');
const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    node: { type: 'string', default: join(root, 'node_modules/node24/bin/node') },
    only: { type: 'string' },
  },
});
if (values.out === undefined) {
  process.stderr.write(
    'usage: node bench/whatif/prior.mjs --out DIR [--node NODE] [--only NAME]\n',
  );
  process.exit(64);
}

const quick = (times) => Array.from({ length: times }, () => 'quick');
const server = (name) => join(root, 'workloads', name, 'server.cjs');
const CLUSTER = join(root, 'packages/bobtail/test/cli/fixtures/two-workers.cjs');

/** Requests per second, the routes that are drawn from, and the server. */
const SERVICES = {
  'gc-churn': { rate: 330, routes: [...quick(19), 'churn'], server: [server('gc-churn')] },
  'loop-hog': { rate: 330, routes: [...quick(99), 'export'], server: [server('loop-hog')] },
  express: {
    rate: 330,
    routes: ['warm', 'warm', 'warm', 'warm', 'orders/7'],
    server: [server('express')],
  },
  'loop-hog, two workers': {
    rate: 330,
    routes: [...quick(99), 'export'],
    server: [CLUSTER, server('loop-hog')],
    isCluster: true,
  },
};
/** More than p99.9 needs: those that came while the host took time are left out. */
const REQUESTS = 14_000;
const POLICIES = ['static:3.3', 'static:peak', 'gc-boost', 'queue-boost', 'combined'];
const PRIOR = ['adrenaline:types=1..n', 'rubik', 'rubik:tail=99', 'oracle:tail=99.9'];
const SHARED = ['gc-boost', 'combined', 'adrenaline', 'rubik'];

async function measure({ rate, routes, server: command, isCluster }) {
  const folder = mkdtempSync(join(tmpdir(), 'bobtail-bench-prior-'));
  const out = join(folder, 'recording.bobtail');
  const load = [process.execPath, LOAD, 'open', REQUESTS, rate, ...routes];
  const onPort = load.map((word) => `'${word}'`).join(' ');
  const shared = isCluster ? SHARED.map((one) => `domain=shared,policy=${one}`) : [];
  const scenarios = [
    ...[...POLICIES, ...PRIOR].flatMap((one) => ['--policy', one]),
    ...shared.flatMap((one) => ['--set', one]),
  ];
  try {
    await recordWhole(out, ['--warmup', '1', '--on-port', onPort], [values.node, ...command]);
    // Without the command, which names folders of this machine.
    const { run: _, ...answer } = JSON.parse(
      await bobtail(['whatif', out, '--json', ...scenarios]),
    );
    return `${JSON.stringify(answer)}\n`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const percent = (ratio) => `${ratio > 0 ? '+' : '−'}${Math.abs(ratio * 100).toFixed(1)} %`;
const ms = (ns) => `${(ns / 1e6).toFixed(1)} ms`;

function row(name, { name: text, percentiles, policy }) {
  const at = (wanted) => percentiles.find(({ percentile }) => percentile === wanted);
  const cells = [99.9, 99].map(at).flatMap((one) => (one ? [percent(one.change)] : ['']));
  const aim = policy.target;
  const target = aim ? `p${aim.percentile} ${ms(aim.latencyNs)}, ${ms(aim.reachedNs)}` : '';
  const figures = [...cells, policy.energy.toFixed(3), target];
  return `| ${[name, `\`${text.replace('policy=', '')}\``, ...figures].join(' | ')} |`;
}

mkdirSync(values.out, { recursive: true });
const lines = [
  '| service | scheme | p99.9 | p99 | energy | target, reached |',
  '|---|---|---|---|---|---|',
];
for (const [name, service] of Object.entries(SERVICES)) {
  const file = join(values.out, `${name.replaceAll(/\W+/g, '-')}.json`);
  if (values.only !== undefined && values.only !== name) continue;
  if (!existsSync(file)) writeFileSync(file, await measure(service));
  const { scenarios } = JSON.parse(readFileSync(file, 'utf8'));
  lines.push(...scenarios.map((one) => row(name, one)));
}
process.stdout.write(`${lines.join('\n')}\n`);
