// Makes the tables of the README from the raw data of a comparison.
//
//   node bench/peers/table.mjs DIR…
//
// CPU ratios are taken within a round, then the median over rounds; latencies of all rounds are
// put together. With several folders, an arm's figures come from the last that has it, each with
// the ratio to that folder's own service alone. An arm that left requests unanswered could not keep
// up: its latency says nothing.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LatencyHistogram } from '../harness/latency-histogram.mjs';
import { medianInterval, quartiles } from '../harness/statistics.mjs';

const NAMES = {
  off: 'alone',
  off2: 'alone again (A/A)',
  loop: 'Bobtail `--detail loop`',
  full: 'Bobtail full',
  sense: 'sensors of `boost`, nobody decides',
  boost: 'Bobtail `boost`, sensing and deciding',
  hooks: 'empty promise hooks, nothing else',
  'cpu-prof': 'node `--cpu-prof`',
  otel: 'OpenTelemetry',
  'dd-trace': 'dd-trace',
  'dd-profile': 'dd-trace with profiler',
  bubbleprof: 'Clinic Bubbleprof (a tenth of the load)',
};
const PERCENTILES = [50, 99, 99.9];

function linesOf(folder, file) {
  const [, ...lines] = readFileSync(join(folder, file), 'utf8').trim().split('\n');
  return lines.map((line) => line.split(','));
}

function readCell(folder, name) {
  const about = JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'));
  const rows = linesOf(folder, `${name}.csv`).map(
    ([round, arm, cpuUs, , , failed, unanswered]) => ({
      round,
      arm,
      cpuUs: Number(cpuUs),
      lost: Number(failed) + Number(unanswered),
    }),
  );
  return { ...about, rows, latencies: new Map(linesOf(folder, `${name}.latency.csv`)) };
}

/** CPU time per request of the service alone, by round. */
function costsOf(rows, name) {
  return new Map(rows.filter(({ arm }) => arm === name).map((row) => [row.round, row.cpuUs]));
}

/** Ratios, costs and latencies of each arm of one cell. */
function summary({ rows, latencies }) {
  const base = costsOf(rows, 'off');
  const again = costsOf(rows, 'off2');
  const arms = new Map();
  for (const row of rows) {
    const arm = arms.get(row.arm) ?? { ratios: [], toBoth: [], us: [], lost: 0 };
    const alone = base.get(row.round);
    arm.ratios.push(row.cpuUs / alone);
    // The control is compared with one of the two, everything else with both: half the noise.
    const both = row.arm === 'off2' ? alone : Math.sqrt(alone * (again.get(row.round) ?? alone));
    arm.toBoth.push(row.cpuUs / both);
    arm.us.push(row.cpuUs);
    arm.lost += row.lost;
    arms.set(row.arm, arm);
  }
  for (const [name, arm] of arms) arm.latency = LatencyHistogram.fromText(latencies.get(name));
  return arms;
}

function ratioText(arm, missing) {
  if (!arm) return missing ? 'does not run' : '–';
  const { median, low, high } = quartiles(arm.ratios);
  return `${median.toFixed(2)} [${low.toFixed(2)}–${high.toFixed(2)}]`;
}

function milliseconds(value) {
  return value === null ? '–' : value < 10 ? value.toFixed(2) : value.toFixed(1);
}

function cpuTable(service, cells) {
  const columns = cells.map(({ node }) => `Node ${node}`);
  const rates = cells.map(({ ratePerS }) => `${ratePerS}/s`);
  const lines = [
    `### ${service}: CPU per request, ratio to the service alone: median [quartiles]`,
    '',
    `| | ${columns.join(' | ')} |`,
    `|---|${columns.map(() => '---').join('|')}|`,
    `| load | ${rates.join(' | ')} |`,
  ];
  for (const [arm, name] of Object.entries(NAMES)) {
    if (!cells.some((cell) => cell.arms.has(arm) || cell.missing[arm])) continue;
    const figures = cells.map((cell) => {
      if (arm !== 'off') return ratioText(cell.arms.get(arm), cell.missing[arm]);
      return `${quartiles(cell.arms.get(arm).us).median.toFixed(1)} µs`;
    });
    lines.push(`| ${name} | ${figures.join(' | ')} |`);
  }
  return lines.join('\n');
}

/** All services together: what no single cell is long enough to tell on a noisy machine. */
function pooledTable(cells) {
  const majors = [...new Set(cells.map(({ node }) => Number.parseInt(node, 10)))].sort();
  const groups = [...majors.map((major) => [`Node ${major}`, major]), ['all', null]];
  const lines = [
    '### all services: CPU per request, ratio to the service alone: median [95 % interval], rounds',
    '',
    `| | ${groups.map(([title]) => title).join(' | ')} |`,
    `|---|${groups.map(() => '---').join('|')}|`,
  ];
  for (const [arm, name] of Object.entries(NAMES).slice(1)) {
    const figures = groups.map(([, major]) => {
      const own = cells.filter(({ node }) => major === null || Number.parseInt(node, 10) === major);
      const ratios = own.flatMap((cell) => cell.arms.get(arm)?.toBoth ?? []);
      if (ratios.length === 0) return '–';
      const { median, low, high } = medianInterval(ratios);
      return `${median.toFixed(3)} [${low.toFixed(2)}–${high.toFixed(2)}], ${ratios.length}`;
    });
    if (figures.some((figure) => figure !== '–'))
      lines.push(`| ${name} | ${figures.join(' | ')} |`);
  }
  return lines.join('\n');
}

function latencyTable(service, cells) {
  const lines = [
    `### ${service}: latency from the intended start, p50 / p99 / p99.9 in ms`,
    '',
    `| | ${cells.map(({ node }) => `Node ${node}`).join(' | ')} |`,
    `|---|${cells.map(() => '---').join('|')}|`,
  ];
  for (const [arm, name] of Object.entries(NAMES)) {
    if (!cells.some((cell) => cell.arms.has(arm))) continue;
    const figures = cells.map((cell) => {
      const own = cell.arms.get(arm);
      if (!own) return '–';
      if (own.lost) return `cannot keep up (${own.lost} lost)`;
      return PERCENTILES.map((p) => milliseconds(own.latency.percentileMs(p))).join(' / ');
    });
    lines.push(`| ${name} | ${figures.join(' | ')} |`);
  }
  return lines.join('\n');
}

/** The cells of several folders; what a later one measured again takes the place of the earlier. */
function mergedCells(folders) {
  const cells = new Map();
  for (const folder of folders) {
    for (const file of readdirSync(folder).filter((name) => /^node\d+-\w+\.csv$/.test(name))) {
      const name = file.replace(/\.csv$/, '');
      const cell = readCell(folder, name);
      const earlier = cells.get(name) ?? { arms: new Map(), missing: {} };
      const arms = new Map([...earlier.arms, ...summary(cell)]);
      cells.set(name, { ...cell, arms, missing: { ...earlier.missing, ...cell.missing } });
    }
  }
  return [...cells.values()];
}

/** All tables of the raw data in `folders`, as Markdown. */
export function tables(folders) {
  const cells = mergedCells(folders);
  const services = [...new Set(cells.map(({ service }) => service))];
  const parts = services.flatMap((service) => {
    const own = cells.filter((cell) => cell.service === service);
    own.sort((a, b) => Number.parseInt(a.node, 10) - Number.parseInt(b.node, 10));
    return [cpuTable(service, own), latencyTable(service, own)];
  });
  parts.unshift(pooledTable(cells));
  const reasons = cells.flatMap(({ node, service, missing }) =>
    Object.entries(missing).map(
      ([arm, why]) => `- ${NAMES[arm]}, Node ${node}, ${service}: ${why}`,
    ),
  );
  if (reasons.length) parts.push(['### Does not run', '', ...reasons].join('\n'));
  return `${parts.join('\n\n')}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.stdout.write(tables(process.argv.slice(2)));
}
