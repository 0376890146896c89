// The paper's GC-Tuning: chooses for each service the young generation with the shortest p99 at the
// base speed, of a run of `run.mjs` over several of them, and tells a run to use it. Only of those
// that had a shorter one than the base in every round: else the service stays as it is, as `bobtail
// tune` would leave it.
//
//   node --single-threaded-gc bench/boost/run.mjs --rounds 2 --out DIR/tuning
//     --arms semi-1,semi-4,semi-8,static-2.6,semi-32,semi-64
//   node bench/boost/tune.mjs DIR
//
// Not by `bobtail tune`: it starts the service anew for each arm, and this core changes its speed
// from one minute to the next; `run.mjs` has all arms there at once.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ARMS, BASE, BASE_SEMI_SPACE } from './arms.mjs';
import { cellsIn, pooled } from './cells.mjs';
import { choicePath } from './tuned.mjs';

const [folder] = process.argv.slice(2);

/** Of all rounds of an arm together. */
function p99Ms(cells) {
  return pooled(cells).percentileMs(99);
}

/** In each round; cells are in their order. */
function isAlwaysShorter(cells, base) {
  return cells.every((cell, round) => p99Ms([cell]) < p99Ms([base[round]]));
}

const chosen = {};
for (const [service, arms] of cellsIn(join(folder, 'tuning'))) {
  const tried = [...arms].map(([arm, cells]) => ({ arm, p99Ms: p99Ms(cells) }));
  tried.sort((one, other) => one.p99Ms - other.p99Ms);
  const base = arms.get(BASE);
  const { arm } = tried.find((one) => one.arm === BASE || isAlwaysShorter(arms.get(one.arm), base));
  const flags = ARMS[arm].flags ?? BASE_SEMI_SPACE;
  chosen[service] = { flags, tried: Object.fromEntries(tried.map((one) => [one.arm, one.p99Ms])) };
  process.stdout.write(`${service}: ${arm === BASE ? 'as it is' : arm}\n`);
}
writeFileSync(choicePath(folder), `${JSON.stringify(chosen, null, 2)}\n`);
