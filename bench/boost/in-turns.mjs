// Tables of rounds of `run.mjs --one-service`, in which one service had the policies of all arms in
// turns: each beside the other round by round, with 95 % of a bootstrap over rounds, and all turns
// together at the service, with 95 % of one over turns (`by-turn.mjs`), which takes them for
// independent and has both Combined as one.
//
//   node bench/boost/in-turns.mjs bench/runs/2026-11-29-boost-16
import { BASE } from './arms.mjs';
import { FIGURES, meanOfRounds, ratiosByRound } from './by-round.mjs';
import { compareByTurn, turnsOf } from './by-turn.mjs';
import { cellsIn } from './cells.mjs';

const ARMS = [BASE, 'combined-untuned', 'deadline-untuned', 'combined-again'];
const [BASES, COMBINED, OURS, AGAIN] = ARMS.keys();
/** Both Combined are one, of twice as many turns, but to tell how far they are apart. */
const COMPARED = [
  ['deadline by Combined (both)', [OURS], [COMBINED, AGAIN]],
  ['Combined again by Combined (A/A)', [AGAIN], [COMBINED]],
  ['deadline by the base', [OURS], [BASES]],
  ['Combined (both) by the base', [COMBINED, AGAIN], [BASES]],
];

const row = (...cells) => process.stdout.write(`| ${cells.join(' | ')} |\n`);

/** `0.93 [0.87–1.00]`. */
function text({ ratio, low, high }) {
  if (!Number.isFinite(ratio)) return '–';
  return `${ratio.toFixed(3)} [${low.toFixed(3)}–${high.toFixed(3)}]`;
}

const services = [...cellsIn(process.argv[2])].map(([service, arms]) => {
  const missing = ARMS.filter((arm) => arms.get(arm)?.[0].byTurn === undefined);
  if (missing.length > 0) throw new Error(`${service} has no turns of ${missing} on one service`);
  return { service, arms, turns: turnsOf(ARMS.map((arm) => arms.get(arm))) };
});

/** Of one service, by round. */
function ratiosOf({ arms }, figure, [own], theirs) {
  const others = theirs.map((place) => ARMS[place]);
  return ratiosByRound(arms, FIGURES[figure], ARMS[own], others);
}

process.stdout.write('### Round by round\n\n');
row('', 'rounds', ...Object.keys(FIGURES));
row(...Array(2 + Object.keys(FIGURES).length).fill('---'));
for (const [title, ours, theirs] of COMPARED.slice(0, 2)) {
  const means = Object.keys(FIGURES).map((figure) => {
    return meanOfRounds(services.map((one) => ratiosOf(one, figure, ours, theirs)));
  });
  const told = means.map((one) => `${text(one)}, less in ${one.less}`);
  row(title, means[0].rounds, ...told);
}
for (const [title, ours, theirs] of COMPARED.slice(0, 2)) {
  process.stdout.write(`\n### Of single services: ${title}\n\n`);
  row('service', ...Object.keys(FIGURES));
  row(...Array(1 + Object.keys(FIGURES).length).fill('---'));
  for (const one of services) {
    const each = Object.keys(FIGURES).map((figure) => {
      const { ratio, less, rounds } = meanOfRounds([ratiosOf(one, figure, ours, theirs)]);
      return `${ratio.toFixed(3)}, less in ${less} of ${rounds}`;
    });
    row(one.service, ...each);
  }
}

for (const [title, ours, theirs] of COMPARED) {
  process.stdout.write(`\n### All turns together: ${title}\n\n`);
  row('service', 'turns of each', 'p99', 'p99.9', 'time boosted');
  row(...Array(5).fill('---'));
  const each = services.map(({ turns }) => turns);
  const { services: found, all } = compareByTurn(each, ours, theirs);
  for (const [index, { turns, p99, p999, premium }] of found.entries()) {
    row(services[index].service, turns, text(p99), text(p999), text(premium));
  }
  const sum = found.reduce((so, { turns }) => so + turns, 0);
  row('geometric mean', sum, text(all.p99), text(all.p999), text(all.premium));
}
