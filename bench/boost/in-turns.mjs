// Tables of rounds of `run.mjs --one-service`, in which one service had the policies of all arms in
// turns: each beside the other round by round, with 95 % of a bootstrap over rounds, and all turns
// together at the service, with 95 % of one over turns (`by-turn.mjs`), which takes them for
// independent and has both Combined as one.
//
//   node bench/boost/in-turns.mjs bench/runs/2026-11-29-boost-16
import { ARMS as ALL, BASE } from './arms.mjs';
import { FIGURES, meanOfRounds, ratiosByRound } from './by-round.mjs';
import { compareByTurn, turnsOf } from './by-turn.mjs';
import { cellsIn } from './cells.mjs';

const COMBINED = ['combined-untuned', 'combined-again'];
/** Ours by what may be asked for: once, or twice of less. Whichever was on the service counts. */
const OURS = [['deadline-untuned'], ['deadline-85', 'deadline-85-again']];

const row = (...cells) => process.stdout.write(`| ${cells.join(' | ')} |\n`);

/** `0.93 [0.87–1.00]`. */
function text({ ratio, low, high }) {
  if (!Number.isFinite(ratio)) return '–';
  return `${ratio.toFixed(3)} [${low.toFixed(3)}–${high.toFixed(3)}]`;
}

const found = [...cellsIn(process.argv[2])];
const has = (arms, name) => arms.get(name)?.[0].byTurn !== undefined;
const isThere = (names) => names.every((name) => found.every(([, arms]) => has(arms, name)));
const ours = OURS.find(isThere);
if (found.length === 0 || ours === undefined || !isThere(COMBINED)) {
  const wanted = `${COMBINED} and ${OURS.map((names) => names.join(',')).join(' or ')}`;
  throw new Error(`not all services have turns of ${wanted} on one service`);
}
const hasBase = isThere([BASE]);
const names = [...ours, ...COMBINED, ...(hasBase ? [BASE] : [])];
const services = found.map(([service, arms]) => {
  return { service, arms, turns: turnsOf(names.map((name) => arms.get(name))) };
});
const title = ours.length > 1 ? `${ALL[ours[0]].policy} (both)` : ALL[ours[0]].policy;
/** An arm that was there twice is one, of twice as many turns, but to tell how far both differ. */
const BY_ROUND = [
  [`${title} by Combined (both)`, ours, COMBINED],
  ['Combined again by Combined (A/A)', [COMBINED[1]], [COMBINED[0]]],
  ...(ours.length > 1 ? [[`${ALL[ours[0]].policy} again (A/A)`, [ours[1]], [ours[0]]]] : []),
];
const BY_BASE = [
  [`${title} by the base`, ours, [BASE]],
  ['Combined (both) by the base', COMBINED, [BASE]],
];
const figures = Object.values(FIGURES);

process.stdout.write('### Round by round\n\n');
row('', 'rounds', ...Object.keys(FIGURES));
row(...Array(2 + figures.length).fill('---'));
for (const [title, own, theirs] of BY_ROUND) {
  const means = figures.map((figure) => {
    return meanOfRounds(services.map(({ arms }) => ratiosByRound(arms, figure, own, theirs)));
  });
  const told = means.map((one) => `${text(one)}, less in ${one.less}`);
  row(title, means[0].rounds, ...told);
}
for (const [title, own, theirs] of BY_ROUND) {
  process.stdout.write(`\n### Of single services: ${title}\n\n`);
  row('service', ...Object.keys(FIGURES));
  row(...Array(1 + figures.length).fill('---'));
  for (const { service, arms } of services) {
    const each = figures.map((figure) => {
      const { ratio, less, rounds } = meanOfRounds([ratiosByRound(arms, figure, own, theirs)]);
      return `${ratio.toFixed(3)}, less in ${less} of ${rounds}`;
    });
    row(service, ...each);
  }
}

for (const [title, own, theirs] of [...BY_ROUND, ...(hasBase ? BY_BASE : [])]) {
  process.stdout.write(`\n### All turns together: ${title}\n\n`);
  row('service', 'turns of each', 'p99', 'p99.9', 'time boosted');
  row(...Array(5).fill('---'));
  const each = services.map(({ turns }) => turns);
  const places = [own, theirs].map((list) => list.map((name) => names.indexOf(name)));
  const { services: told, all } = compareByTurn(each, ...places);
  for (const [index, { turns, p99, p999, premium }] of told.entries()) {
    row(services[index].service, turns, text(p99), text(p999), text(premium));
  }
  const sum = told.reduce((so, { turns }) => so + turns, 0);
  row('geometric mean', sum, text(all.p99), text(all.p999), text(all.premium));
}
