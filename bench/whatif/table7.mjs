// Prints Table 7 in replays beside the paper's, as Markdown, and by service:
//
//   node bench/whatif/table7.mjs DIR
//
// Of `DIR/SERVICE-SEED.json` as schemes.mjs writes them. A percentile that a recording is too short
// for is left out of the mean, which says over how many it is.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { seededRandom } from '../../packages/bobtail/dist/prove/shuffle.js';
import { head, row } from '../harness/printed-table.mjs';
import { mean } from '../harness/statistics.mjs';
import { OTHER_COMBINED, outcomeOf, SCHEMES } from './schemes-list.mjs';

const folder = process.argv[2];
if (folder === undefined) {
  process.stderr.write('usage: node bench/whatif/table7.mjs DIR\n');
  process.exit(64);
}
const TAILS = [99.9, 99];

const answers = readdirSync(folder)
  .filter((file) => /^\w+-\d+\.json$/.test(file))
  .sort()
  .map((file) => {
    const name = file.replace('.json', '');
    const answer = JSON.parse(readFileSync(join(folder, file), 'utf8'));
    return { name, answer };
  });

/** Per cent that a percentile becomes shorter. */
function lessOf(one, policy, percentile) {
  const told = outcomeOf(one.answer, policy)?.percentiles.find(
    (each) => each.percentile === percentile,
  );
  return told === undefined ? undefined : -100 * told.change;
}

const energyOf = (one, policy) => outcomeOf(one.answer, policy).policy.energy;

function meanLess(some, policy, percentile) {
  const told = some
    .map((one) => lessOf(one, policy, percentile))
    .filter((one) => one !== undefined);
  return told.length === 0 ? '–' : `${mean(told).toFixed(1)} (${told.length})`;
}

function table(title, some, schemes = Object.entries(SCHEMES)) {
  process.stdout.write(`\n### ${title}\n\n`);
  const paper = ['paper: tail less', 'paper: energy'];
  head('scheme', ...TAILS.map((one) => `p${one} less, %`), 'energy*', ...paper);
  for (const [name, scheme] of schemes) {
    const [less, energy] = (scheme.paper ?? []).map((one) => one ?? '–');
    const told = [less ?? '', energy ?? ''];
    if (scheme.policy === undefined) {
      row(name, ...TAILS.map(() => 'not simulated'), 'not simulated', ...told);
      continue;
    }
    // Older runs lack what came later.
    if (some.some((one) => outcomeOf(one.answer, scheme.policy) === undefined)) continue;
    const energies = some.map((one) => energyOf(one, scheme.policy));
    const lesses = TAILS.map((tail) => meanLess(some, scheme.policy, tail));
    row(name, ...lesses, mean(energies).toFixed(3), ...told);
  }
}

/** What Adrenaline tells apart; with one route it boosts for all or for none. */
function routesOf({ answer }) {
  return outcomeOf(answer, 'adrenaline')?.policy.types?.length ?? 0;
}

function adrenaline() {
  const schemes = Object.entries(SCHEMES).filter(([, { policy }]) =>
    policy?.startsWith('adrenaline'),
  );
  const several = answers.filter((one) => routesOf(one) > 1);
  // Older runs lack it.
  if (several.length === 0) return;
  const names = several.map(({ name }) => name).join(', ');
  const beside = [...schemes, ['Combined', SCHEMES.Combined]];
  table(`Adrenaline where there are several routes (${names})`, several, beside);
  const alone = answers.filter((one) => routesOf(one) === 1);
  table('Adrenaline where there is one, so that it boosts for every request', alone, beside);
}

/** Without a change: how far each percentile is from the recorded one. */
function unchanged() {
  process.stdout.write('\n### Replayed without a change\n\n');
  const off = answers.flatMap(({ answer }) => Object.values(answer.fidelity.off));
  const most = Math.max(...off.map(Math.abs));
  const figures = `${off.length} percentiles of ${answers.length} recordings`;
  process.stdout.write(`Of ${figures} the furthest is ${(100 * most).toFixed(3)} % off.\n`);
}

/**
 * In which of tail and energy a scheme is at least as good; in the tail, by all percentiles that
 * are told.
 */
function verdict(one, policy, other) {
  const told = TAILS.filter((percentile) => lessOf(one, policy, percentile) !== undefined);
  if (told.length === 0) return '–';
  const isShorter = told.every(
    (percentile) => lessOf(one, policy, percentile) >= lessOf(one, other, percentile),
  );
  const [energy, cost] = [policy, other].map((name) => energyOf(one, name));
  if (isShorter && energy <= cost) return 'both';
  if (!isShorter && energy > cost) return 'neither';
  return isShorter ? 'tail' : 'energy';
}

/** Of a mean over services, by a bootstrap over these: two recordings of one are not two. */
function interval(byName) {
  const services = new Map();
  for (const [name, figure] of byName) {
    const service = name.replace(/-\d+$/, '');
    services.set(service, [...(services.get(service) ?? []), figure]);
  }
  const each = [...services.values()];
  const random = seededRandom(1);
  const means = Array.from({ length: 10_000 }, () =>
    mean(each.flatMap(() => each[Math.floor(random() * each.length)])),
  ).sort((a, b) => a - b);
  return [0.025, 0.975].map((share) => means[Math.floor(share * means.length)]);
}

function margin(policy, other) {
  const told = (name, byName, digits) => {
    const [low, high] = interval(byName).map((one) => one.toFixed(digits));
    const middle = mean(byName.map(([, figure]) => figure)).toFixed(digits);
    return `${name} ${middle} [${low} to ${high}]`;
  };
  const tails = TAILS.map((tail) => {
    const known = answers.filter((one) => lessOf(one, policy, tail) !== undefined);
    const byName = known.map((one) => [
      one.name,
      lessOf(one, policy, tail) - lessOf(one, other, tail),
    ]);
    return told(`p${tail}, points`, byName, 1);
  });
  const energies = answers.map((one) => [one.name, energyOf(one, policy) - energyOf(one, other)]);
  const all = [...tails, told('energy', energies, 3)].join('; ');
  process.stdout.write(`\nMore by, in the mean, with 95 % of a bootstrap over services: ${all}.\n`);
}

function byService(policy, other) {
  process.stdout.write(`\n### \`${policy}\` against \`${other}\`, by service\n\n`);
  const figures = TAILS.map((one) => `p${one} less, %`);
  head('service', 'requests', 'loop busy', ...figures, 'energy*', 'better in');
  for (const one of answers) {
    const both = [policy, other];
    const lesses = TAILS.map((tail) => {
      const told = both.map((name) => lessOf(one, name, tail));
      return told[0] === undefined ? '–' : told.map((less) => less.toFixed(1)).join(' : ');
    });
    const energy = both.map((name) => energyOf(one, name).toFixed(3)).join(' : ');
    const busy = `${Math.round(one.answer.unchanged.loopUse * 100)} %`;
    const better = verdict(one, policy, other);
    row(one.name, one.answer.requests, busy, ...lesses, energy, better);
  }
  margin(policy, other);
}

/** A scheme with what it takes, for how much. */
function schemeText(policy, less, energy) {
  return `\`${policy}\` ${less.toFixed(1)}, ${energy.toFixed(3)}`;
}

/** Figure 7 in words: by energy, who is on the frontier of each service. */
function frontiers() {
  process.stdout.write('\n### Figure 7, by service: on the frontier, by energy\n\n');
  head('service', 'of', 'less %, energy*');
  for (const { name, answer } of answers) {
    const { percentile, points } = answer.frontier;
    const best = points.filter(({ beatenBy }) => beatenBy === null);
    const told = best
      .sort((a, b) => a.energy - b.energy)
      .map(({ name: scheme, reduction, energy }) =>
        schemeText(scheme.replace(/^.*policy=/, ''), reduction * 100, energy),
      );
    row(name, `p${percentile}`, told.join('; '));
  }
}

/** Policies that run live, by name. */
const LIVE = ['gc-boost', 'queue-boost', 'combined', ...OTHER_COMBINED, 'deadline'];
/** Oracles that spend an energy, by the percentile that they make shortest. */
const ORACLES = {
  99.9: ['oracle:energy=combined', 'oracle:energy=1.1', 'oracle:energy=1.2'],
  99: ['oracle:energy=combined,tail=99'],
};
/** What differs by less is printed as the same. */
const ALIKE_POINTS = 0.05;

/** Where one that knows the future is beaten by one that does not: it is no bound. */
function oraclesBeaten() {
  process.stdout.write('\n### Oracles that a live policy beats, at no more energy\n\n');
  head('service', 'of', 'oracle: less %, energy*', 'beaten by');
  const all = answers.flatMap((one) =>
    TAILS.flatMap((percentile) =>
      ORACLES[percentile].map((oracle) => ({ one, percentile, oracle })),
    ),
  );
  for (const { one, percentile, oracle } of all) {
    const less = (policy) => lessOf(one, policy, percentile);
    // Of a recording that is too short for it, or of an older run, which was not asked.
    if (less(oracle) === undefined) continue;
    const beating = LIVE.filter(
      (live) =>
        less(live) > less(oracle) + ALIKE_POINTS && energyOf(one, live) <= energyOf(one, oracle),
    );
    const told = (policy) => schemeText(policy, less(policy), energyOf(one, policy));
    if (beating.length > 0) {
      row(one.name, `p${percentile}`, told(oracle), beating.map(told).join('; '));
    }
  }
}

/** Rubik's target of each recording, which is what GC-Boost reaches, and what came of it. */
function targets() {
  process.stdout.write("\n### Rubik's targets\n\n");
  head('service', 'of', 'target, ms', 'reached, ms', 'energy*');
  for (const one of answers) {
    const { target } = outcomeOf(one.answer, 'rubik')?.policy ?? {};
    // Older runs lack it.
    if (!target) continue;
    const { percentile, latencyNs, reachedNs } = target;
    const ms = [latencyNs, reachedNs].map((ns) => (ns / 1e6).toFixed(2));
    row(one.name, `p${percentile}`, ...ms, energyOf(one, 'rubik').toFixed(3));
  }
}

table('All services', answers);
adrenaline();
unchanged();
frontiers();
byService('deadline', 'combined');
for (const other of OTHER_COMBINED) {
  if (answers.every(({ answer }) => outcomeOf(answer, other) !== undefined)) {
    byService('deadline', other);
  }
}
byService('deadline', 'rubik');
byService('deadline', 'adrenaline');
targets();
oraclesBeaten();
process.stdout.write("\n*Energy is modelled by the paper's points.\n");
