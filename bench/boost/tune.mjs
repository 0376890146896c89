// The paper's GC-Tuning: chooses for each service the young generation with the shortest p99 at the
// base speed, of a run of `run.mjs` over several of them, and tells a run to use it. Only of those
// that had a shorter one than the base in every round: else the service stays as it is, as `bobtail
// tune` would leave it.
//
//   node --single-threaded-gc bench/boost/run.mjs --rounds 2 --out DIR/tuning
//     --arms semi-1,semi-4,semi-8,static-2.6,semi-32,semi-64
//   node bench/boost/tune.mjs DIR [--least-mb 4] [--tuning DIR/tuning]
//
// `--least-mb` leaves smaller young generations out, however short their p99 is in calm turns: 1 MB
// takes a tenth to a fifth more of the loop than 16, so that it has less in reserve when the core
// is slow, and GC-Boost costs 1.19 with it.
//
// Not by `bobtail tune`: it starts the service anew for each arm, and this core changes its speed
// from one minute to the next; `run.mjs` has all arms there at once.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ARMS, BASE, BASE_SEMI_SPACE } from './arms.mjs';
import { cellsIn, pooled } from './cells.mjs';
import { choicePath } from './tuned.mjs';

const { values, positionals } = parseArgs({
  options: { 'least-mb': { type: 'string', default: '0' }, tuning: { type: 'string' } },
  allowPositionals: true,
});
const [folder] = positionals;

/** Of all rounds of an arm together. */
function p99Ms(cells) {
  return pooled(cells).percentileMs(99);
}

function isLargeEnough(arm) {
  return ARMS[arm].semiSpaceMb >= Number(values['least-mb']);
}

/** In each round; cells are in their order. */
function isAlwaysShorter(cells, base) {
  return cells.every((cell, round) => p99Ms([cell]) < p99Ms([base[round]]));
}

const chosen = {};
for (const [service, arms] of cellsIn(values.tuning ?? join(folder, 'tuning'))) {
  const tried = [...arms].map(([arm, cells]) => ({ arm, p99Ms: p99Ms(cells) }));
  tried.sort((one, other) => one.p99Ms - other.p99Ms);
  const base = arms.get(BASE);
  const { arm } = tried.find(
    ({ arm: one }) => one === BASE || (isLargeEnough(one) && isAlwaysShorter(arms.get(one), base)),
  );
  const flags = ARMS[arm].flags ?? BASE_SEMI_SPACE;
  chosen[service] = { flags, tried: Object.fromEntries(tried.map((one) => [one.arm, one.p99Ms])) };
  process.stdout.write(`${service}: ${arm === BASE ? 'as it is' : arm}\n`);
}
writeFileSync(choicePath(folder), `${JSON.stringify(chosen, null, 2)}\n`);
