// Tables in the form of the paper's Tables 6 and 7, of the raw data of `run.mjs`, beside those of
// the paper. Percentiles are those of all rounds together, of turns in which the core was fast and,
// beside, of all; their intervals are from a paired bootstrap over rounds (as `bobtail tune` has
// them); energies are modelled.
//
//   node bench/boost/tables.mjs [--together] [--services redis,…] bench/runs/2026-11-21-boost…
//
// Of several folders a service is taken from the last that has it; with `--together` their rounds
// are those of one run that was made in parts; with `--services` the tables are of these alone.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { LatencyHistogram } from '../harness/latency-histogram.mjs';
import { head, row } from '../harness/printed-table.mjs';
import { mean, medianInterval } from '../harness/statistics.mjs';
import { ARMS, BASE, SERVICES } from './arms.mjs';
import { cellsInAll, cellsTogether, energyOf } from './cells.mjs';
import { compared, TAILS } from './compared.mjs';
import { byRoundsOfScheme, byScheme, conformance, LIVE, offByRound } from './conformance.mjs';

/** Tail reduction in per cent and normalised energy: VEE'19, Table 7 and section 7. */
const PAPER_7 = {
  'static-3.3': ['–', 1.676],
  'static-4.0': ['–', 2.712],
  'gc-boost': [13.56, 1.03],
  'gc-boost-tuned': [17.23, 1.09],
  'queue-boost': [16.27, 1.1],
  combined: [21.18, 1.14],
};
/** By application, in the order of `SERVICES`: GC-Boost and Queue Boost, each with its energy. */
const PAPER_6 = {
  cpu: [15.8, 25.0, 1.08, 1.19],
  redis: [1.2, 7.9, 0.99, 1.07],
  disk: [24.9, 13.9, 1.06, 1.28],
  postgres: [15.1, 10.7, 1.12, 1.11],
};
const LONG_MS = [30, 60];
/** The best of the paper's, and ours with the same flags. */
const ALIKE = [
  ['combined', 'deadline'],
  ['combined-untuned', 'deadline-untuned'],
];

const { values, positionals: folders } = parseArgs({
  options: { together: { type: 'boolean', default: false }, services: { type: 'string' } },
  allowPositionals: true,
});

/** Per cent less, of a ratio. */
const percent = (ratio) => ((1 - ratio) * 100).toFixed(0);

/** `31 % [20–38]`, of the ratio to the base. */
function reduction({ percentiles }, percentile) {
  const one = percentiles.find((found) => found.percentile === percentile);
  if (one === undefined || one.ratio === null) return '–';
  const bounds = one.low === null ? '' : ` [${percent(one.high)}–${percent(one.low)}]`;
  return `${percent(one.ratio)} %${bounds}`;
}

/** The same of all turns, also those in which the core was slow. */
function reductionOfAll({ ofAllTurns }, percentile) {
  return reduction(ofAllTurns, percentile);
}

/** `25 % (12–33)`: the median over rounds, and between which the middle half of them lies. */
function typicalReduction({ byRound }, tail) {
  const ratios = byRound.map((one) => one[TAILS.indexOf(tail)]).filter((ratio) => ratio !== null);
  if (ratios.length === 0) return '–';
  ratios.sort((a, b) => a - b);
  const at = (share) => ratios[Math.round(share * (ratios.length - 1))];
  return `${percent(at(0.5))} % (${percent(at(0.75))}–${percent(at(0.25))})`;
}

function ms(histogram, percentile) {
  return histogram.percentileMs(percentile)?.toFixed(1) ?? '–';
}

async function serviceTable(service, arms) {
  const base = arms.get(BASE) ?? [];
  const results = new Map();
  const rates = [...arms.values()].flat().map(({ ratePerS }) => ratePerS);
  const [least, most] = [Math.min(...rates), Math.max(...rates)];
  process.stdout.write(`\n### ${service}, ${least} to ${most} requests/s\n\n`);
  const figures = [
    'p50 ms',
    'p99 ms',
    'p99.9 ms',
    'p99.9 less',
    'p99 less',
    'by round: p99.9',
    'p99',
    'all turns: p99.9',
    'p99',
  ];
  head('scheme', 'rounds × requests', ...figures, 'boosts/s', 'boosted', 'loop busy', 'energy*');
  const order = Object.keys(ARMS);
  const place = (name) => order.indexOf(name);
  for (const name of [...arms.keys()].sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1))) {
    const cells = arms.get(name);
    const result = await compared(base, cells);
    results.set(name, result);
    const { pooled: all, rounds, perS, boosted, energy, busy } = result;
    const less =
      name === BASE
        ? ['', '', '', '', '', '']
        : [reduction, typicalReduction, reductionOfAll].flatMap((told) => {
            return TAILS.map((tail) => told(result, tail));
          });
    const percentiles = [50, 99, 99.9].map((one) => ms(all, one));
    const shares = [`${(boosted * 100).toFixed(1)} %`, `${(busy * 100).toFixed(0)} %`];
    const size = `${rounds} × ${Math.round(all.count / cells.length)}`;
    const about = [name, size, ...percentiles, ...less, Number.isNaN(perS) ? '–' : perS.toFixed(0)];
    row(...about, ...shares, energy.toFixed(3));
  }
  return results;
}

/** Mean of the reductions of services, in per cent, and of their energies. */
function meanOf(services, arm, percentile) {
  const found = services.map((results) => results.get(arm)).filter(Boolean);
  const ratios = found
    .map(({ percentiles }) => percentiles.find((one) => one.percentile === percentile)?.ratio)
    .filter((ratio) => typeof ratio === 'number');
  if (ratios.length === 0) return '–';
  const less = mean(ratios.map((ratio) => (1 - ratio) * 100));
  return `${less.toFixed(1)} (${ratios.length})`;
}

function tableSeven(services) {
  process.stdout.write('\n### As Table 7: mean over services (how many), in per cent\n\n');
  head('scheme', 'p99.9 less', 'p99 less', 'energy*', 'paper: tail less', 'paper: energy');
  const names = new Set(services.flatMap((results) => [...results.keys()]));
  for (const name of names) {
    if (name === BASE || ARMS[name]?.recordedKind !== undefined) continue;
    const energies = services.map((results) => results.get(name)?.energy).filter(Boolean);
    const energy = mean(energies);
    const tails = TAILS.map((tail) => meanOf(services, name, tail));
    row(name, ...tails, energy.toFixed(3), ...(PAPER_7[name] ?? ['', '']));
  }
}

function tableSix(services) {
  process.stdout.write('\n### As Table 6: by service, tail less and energy, cluster\n\n');
  head('service', 'GC-Boost', 'Queue Boost', 'energy*', 'energy*', 'paper (its application)');
  for (const [service, results] of services) {
    const name = service.replace(/-cluster$/, '');
    const arms = ['gc-boost', 'queue-boost'].map((arm) => results.get(arm));
    const tail = (one) => (one === undefined ? '–' : reduction(one, 99.9));
    const energies = arms.map((one) => one?.energy.toFixed(3) ?? '–');
    const paper = `${PAPER_6[name].join(' / ')} (${SERVICES[name].paper})`;
    row(service, ...arms.map(tail), ...energies, paper);
  }
}

/** Ours beside the best of the paper's, in the rounds that both have: less than that. */
async function oursTable(all) {
  const pairs = [...all].flatMap(([service, { arms }]) => {
    const there = ALIKE.filter((names) => names.every((name) => arms.has(name)));
    return there.map((names) => [service, names.map((name) => arms.get(name)), names[1]]);
  });
  if (pairs.length === 0) return;
  process.stdout.write('\n### deadline beside Combined\n\n');
  const tails = ['p99.9 less', 'p99 less', 'all turns: p99.9', 'p99'];
  head('service', 'scheme', ...tails, 'energy*, of Combined');
  const results = [];
  for (const [service, [theirs, ours], scheme] of pairs) {
    const result = await compared(theirs, ours);
    const told = [reduction, reductionOfAll].flatMap((one) => {
      return TAILS.map((tail) => one(result, tail));
    });
    const byRound = [ours, theirs].map((cells) => {
      return result.numbers.map((n) => energyOf(cells.find(({ round }) => round === n)));
    });
    const premiums = byRound[0].map((energy, index) => (energy - 1) / (byRound[1][index] - 1));
    results.push({ scheme, result, premiums });
    const energies = byRound.map(mean);
    row(service, scheme, ...told, energies.map((one) => one.toFixed(3)).join(', '));
  }
  oursByRoundTable(results);
}

/** The same round by round, over all services: one round that was spoiled decides no median. */
function oursByRoundTable(results) {
  process.stdout.write('\n### The same round by round, by Combined: median, 95 % of it\n\n');
  const places = Object.keys(LIVE).flatMap((at) => TAILS.map((tail) => `${at}: p${tail}`));
  head('scheme', 'rounds', ...places, "of Combined's energy beyond the base's", 'rounds cheaper');
  for (const scheme of new Set(results.map((one) => one.scheme))) {
    const own = results.filter((one) => one.scheme === scheme);
    const figures = Object.values(LIVE).flatMap((liveOf) => {
      const ratios = own.flatMap(({ result }) => liveOf(result).byRound);
      return TAILS.map((_, tail) => ratios.map((both) => both[tail]).filter((one) => one !== null));
    });
    const premiums = own.flatMap((one) => one.premiums);
    const told = [...figures, premiums].map((list) => medianText(medianInterval(list)));
    const cheaper = premiums.filter((one) => one < 1).length;
    row(scheme, premiums.length, ...told, `${cheaper} of ${premiums.length}`);
  }
}

/** As `medianInterval` tells it; of nothing a dash. */
function medianText({ median, low, high }) {
  if (low === undefined) return '–';
  return `${median.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`;
}

/** Where it cannot be told, neither. */
function yesOrNo(is) {
  return { true: 'yes', false: 'no' }[is] ?? '–';
}

/** Where the replays' reduction lies in the interval of the live one, and where not. */
async function conformanceTables(told) {
  await conformanceTable(told, 'load', 'Predicted and live, less % and energy');
  // What a replay tells; older runs have not kept it.
  await conformanceTable(told, 'service', 'Predicted and live, both at the service itself');
}

async function conformanceTable(told, at, title) {
  const found = [];
  for (const [service, results] of told) {
    const { folders } = services.get(service);
    const cells = await conformance([[service, results]], folders, at);
    found.push(...cells.filter(({ live }) => live.length > 0));
  }
  if (found.every(({ predicted }) => predicted === null)) return;
  process.stdout.write(`\n### ${title}\n\n`);
  const tails = TAILS.flatMap((tail) => [`p${tail} predicted`, `p${tail} live`, 'within']);
  head('service', 'scheme', 'recordings', ...tails, 'energy* predicted', 'energy* live');
  for (const { service, arm, result, live, predicted, tails: told } of found) {
    if (predicted === null) continue;
    const cells = told.flatMap(({ percentile, isWithin }) => {
      const both = [predicted, { percentiles: live }].map((one) => reduction(one, percentile));
      return [...both, yesOrNo(isWithin)];
    });
    const energies = [predicted.energy, result.energy].map((one) => one.toFixed(3));
    row(service, arm, predicted.recordings, ...cells, ...energies);
  }
  schemeTable('The same by scheme: mean over services, less %', byScheme(found));
  const byRounds = byRoundsOfScheme(found, at);
  if (byRounds.some(({ services }) => services > 0)) {
    schemeTable("The same in the geometric mean of rounds, with 95 % by Student's t", byRounds);
  }
  offTable(offByRound(found, at));
}

/** What is left where both had the same minutes. */
function offTable(schemes) {
  if (schemes.every(({ rounds }) => rounds === 0)) return;
  process.stdout.write(
    '\n### Round by round: predicted tail by the live one, median and its 95 % interval\n\n',
  );
  head('scheme', 'rounds', ...TAILS.map((tail) => `p${tail}`));
  for (const arm of new Set(schemes.map((one) => one.arm))) {
    const tails = schemes.filter((one) => one.arm === arm);
    row(arm, tails[0].rounds, ...tails.map(medianText));
  }
}

function schemeTable(title, schemes) {
  process.stdout.write(`\n### ${title}\n\n`);
  head('scheme', 'services', ...TAILS.flatMap((tail) => [`p${tail} predicted`, 'live', 'within']));
  const less = (share) => `${(share * 100).toFixed(0)} %`;
  for (const arm of new Set(schemes.map((one) => one.arm))) {
    const tails = schemes.filter((one) => one.arm === arm);
    const cells = tails.flatMap(({ services, predicted, live, low, high, isWithin }) => {
      if (services === 0) return ['–', '–', '–'];
      const bounds = low === undefined ? '' : ` [${less(low)} to ${less(high)}]`;
      return [less(predicted), `${less(live)}${bounds}`, yesOrNo(isWithin)];
    });
    row(arm, tails[0].services, ...cells);
  }
}

/** Of all services, where all turns were kept: blackouts are too few for their percentiles. */
function longWaitsTable(all) {
  process.stdout.write('\n### Of 100,000 requests of all turns\n\n');
  head('scheme', 'requests', ...LONG_MS.map((one) => `over ${one} ms`));
  for (const name of Object.keys(ARMS)) {
    if (ARMS[name].recordedKind !== undefined) continue;
    const cells = all.flatMap((arms) => arms.get(name) ?? []);
    const texts = cells.map((cell) => cell.latenciesOfAllTurns).filter(Boolean);
    if (texts.length === 0) continue;
    const histogram = LatencyHistogram.fromText(texts.join(' '));
    const share = (one) => ((histogram.countOver(one) / histogram.count) * 1e5).toFixed(0);
    row(name, histogram.count, ...LONG_MS.map(share));
  }
}

/** Where a run was, and with which flags. */
function tellAbout(folder) {
  const about = JSON.parse(readFileSync(join(folder, 'about.json'), 'utf8'));
  process.stdout.write(`Node ${about.node}, ${about.host}; EMULATED frequency; tuned: `);
  // One for all in older runs.
  const tuned = typeof about.tuned === 'string' ? { all: about.tuned } : about.tuned;
  const told = Object.entries(tuned).map(([service, flags]) => `${service} \`${flags}\``);
  process.stdout.write(`${told.join(', ')}. *Energy is modelled by the paper's points.\n`);
}

folders.forEach(tellAbout);
const single = [];
const clusters = [];
const found = (values.together ? cellsTogether : cellsInAll)(folders);
const asked = values.services?.split(',');
for (const name of asked ?? []) {
  if (!found.has(name)) throw new Error(`no ${name}; there are ${[...found.keys()]}`);
}
const services = new Map([...found].filter(([name]) => asked?.includes(name) !== false));
for (const [service, { arms }] of services) {
  if (!arms.has(BASE)) continue;
  const results = await serviceTable(service, arms);
  (service.endsWith('-cluster') ? clusters : single).push([service, results]);
}
if (single.length > 0) {
  tableSeven(single.map(([, results]) => results));
  await conformanceTables(single);
}
if (clusters.length > 0) {
  tableSix(clusters);
  await conformanceTables(clusters);
}
await oursTable(services);
longWaitsTable([...services.values()].map(({ arms }) => arms));
