// Tables of rounds of `run.mjs --one-service`, in which one service had the policies of all arms in
// turns: each beside the other at the service, with 95 % of a bootstrap over turns (`by-turn.mjs`).
//
//   node bench/boost/in-turns.mjs bench/runs/2026-11-29-boost-16
import { BASE } from './arms.mjs';
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
  return { service, turns: turnsOf(ARMS.map((arm) => arms.get(arm))) };
});
for (const [title, ours, theirs] of COMPARED) {
  process.stdout.write(`\n### ${title}\n\n`);
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
