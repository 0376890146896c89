// What several runs of `run.mjs --one-service` say together of ours beside Combined: the rounds of
// one setting under one load, which were made on different days, or in parts. That they have one is
// for who asks to know: a run keeps a policy as it was written, and defaults change. Of settings
// that differ it says what ours has by Combined, whichever it was. A Combined that a run had twice
// is compared as both.
//
// Each round's ratio counts once, whichever run it is of, and intervals are Student's t: rounds of
// one run tell nothing of how runs differ, so what all of them say is less than what one promises.
//
//   node bench/boost/runs-in-turns.mjs bench/runs/2026-11-29-boost-18 …-boost-19
//   node bench/boost/runs-in-turns.mjs --by combined-free [--of ARM] RUN…
//
// With `--by` it is compared with that arm, and not with Combined; with `--of` that arm is, and not
// ours.
import { parseArgs } from 'node:util';
import { head, row } from '../harness/printed-table.mjs';
import { ARMS, armsOf, COMBINED, OURS } from './arms.mjs';
import { FIGURES, ratiosByRound, ratioText, studentOfRounds } from './by-round.mjs';
import { cellsIn } from './cells.mjs';

/** Of a run by service the ratios of a figure, of ours by those of `theirs` that it has. */
function ratiosOf({ run, cells }, figure, theirs) {
  return new Map(
    [...cells].map(([service, arms]) => {
      const ours = compared.find((names) => names.every((name) => arms.has(name)));
      const there = theirs.filter((name) => arms.has(name));
      if (ours === undefined || there.length === 0) {
        throw new Error(
          `${run} has no ${values.of ?? 'ours'} beside ${theirs.join(' or ')} on ${service}`,
        );
      }
      return [service, ratiosByRound(arms, figure, ours, there)];
    }),
  );
}

/** By service those of all runs. */
function together(runs, figure, theirs) {
  const all = new Map();
  for (const run of runs) {
    for (const [service, ratios] of ratiosOf(run, figure, theirs)) {
      all.set(service, [...(all.get(service) ?? []), ...ratios]);
    }
  }
  return all;
}

function tell(title, services, theirs) {
  const told = Object.values(FIGURES).map((figure) => {
    const all = together(runs, figure, theirs);
    return studentOfRounds(
      [...all].filter(([name]) => services.includes(name)).map((one) => one[1]),
    );
  });
  row(title, told[0].rounds, ...told.map((one) => `${ratioText(one)}, less in ${one.less}`));
}

const { values, positionals } = parseArgs({
  options: { by: { type: 'string' }, of: { type: 'string' } },
  allowPositionals: true,
});
const theirs = values.by === undefined ? COMBINED : armsOf([values.by]).map(({ name }) => name);
const compared = values.of === undefined ? OURS : armsOf([values.of]).map(({ name }) => [name]);
const runs = positionals.map((run) => ({ run, cells: cellsIn(run) }));
const services = [...together(runs, Object.values(FIGURES)[0], theirs).keys()].sort();
const areTwice = runs.every(({ cells }) => {
  return [...cells.values()].every((arms) => COMBINED.every((name) => arms.has(name)));
});
const combined = `Combined${areTwice ? ' (both)' : ''}`;
const own = values.of === undefined ? 'ours' : ARMS[values.of].label;
const title = `${own} by ${values.by === undefined ? combined : ARMS[values.by].label}`;
head('', 'rounds', ...Object.keys(FIGURES));
tell(title, services, theirs);
if (areTwice && values.by === undefined) {
  tell('ours by the first Combined alone', services, [COMBINED[0]]);
  tell('ours by the second Combined alone', services, [COMBINED[1]]);
}
for (const service of services) tell(`${service}: ${title}`, [service], theirs);
for (const service of services) {
  const others = services.filter((one) => one !== service);
  tell(`without ${service}: ${title}`, others, theirs);
}
