// Tables of rounds of `run.mjs --one-service`, in which one service had the policies of all arms in
// turns: each beside the other round by round, with 95 % of a bootstrap over rounds and by
// Student's t, ours also beside each Combined alone, what became of it as they learnt, and all
// turns together at the service, with 95 % of a bootstrap over turns (`by-turn.mjs`), which takes
// them for independent. An arm that was there twice is compared as both: round by round their
// geometric mean, of all turns together one of twice as many.
//
//   node bench/boost/in-turns.mjs bench/runs/2026-11-29-boost-17
import { head, row } from '../harness/printed-table.mjs';
import { ARMS, BASE, COMBINED, OURS } from './arms.mjs';
import {
  FIGURES,
  figuresOfPart,
  meanOfRounds,
  PARTS,
  ratioOfRounds,
  ratiosByRound,
  ratioText,
  studentOfRounds,
} from './by-round.mjs';
import { compareByTurn, turnsOf } from './by-turn.mjs';
import { cellsIn } from './cells.mjs';

function begin(title, ...columns) {
  process.stdout.write(`${title}\n\n`);
  head(...columns);
}

/** What is compared: `{title, own, theirs}`, each arms that are one policy. */
function comparisons(isThere) {
  const again = ([first, second], policy) => {
    return { title: `${policy} again by itself (A/A)`, own: [second], theirs: [first] };
  };
  const there = OURS.filter(isThere).map((own) => {
    const { policy } = ARMS[own[0]];
    return { own, policy: own.length > 1 ? `${policy} (both)` : policy };
  });
  if (there.length === 0 || !isThere(COMBINED)) {
    const wanted = OURS.map((names) => names.join(' and ')).join(', or ');
    throw new Error(`not all services have turns of ${COMBINED.join(' and ')}, and of ${wanted}`);
  }
  const twice = there.filter(({ own }) => own.length > 1);
  const byRound = [
    ...there.map(({ own, policy }) => {
      return { title: `${policy} by Combined (both)`, own, theirs: COMBINED };
    }),
    again(COMBINED, 'Combined'),
    ...twice.map(({ own }) => again(own, ARMS[own[0]].policy)),
  ];
  // Where an A/A is told apart, each of the two tells what is left against it.
  const byEach = there.flatMap(({ own, policy }) => {
    const names = ['the first Combined', 'the second Combined'];
    return COMBINED.map((one, at) => {
      return { title: `${policy} by ${names[at]} alone`, own, theirs: [one] };
    });
  });
  if (!isThere([BASE])) return { byRound, byEach, byBase: [] };
  const all = [...there, { own: COMBINED, policy: 'Combined (both)' }];
  const byBase = all.map(({ own, policy }) => {
    return { title: `${policy} by the base`, own, theirs: [BASE] };
  });
  return { byRound, byEach, byBase };
}

/** Of each service its ratios by round. */
function ratiosOf(services, figure, { own, theirs }) {
  return services.map(({ arms }) => ratiosByRound(arms, figure, own, theirs));
}

function tellRounds(services, byRound, byEach) {
  const [names, figures] = [Object.keys(FIGURES), Object.values(FIGURES)];
  const told = [...byRound, ...byEach].map((one) => {
    return { title: one.title, ratios: figures.map((figure) => ratiosOf(services, figure, one)) };
  });
  begin('### Round by round', '', 'rounds', ...names);
  for (const { title, ratios } of told) {
    const means = ratios.map(meanOfRounds);
    row(title, means[0].rounds, ...means.map((mean) => `${ratioText(mean)}, less in ${mean.less}`));
  }
  begin("\n### The same by Student's t", '', 'rounds', ...names);
  for (const { title, ratios } of told) {
    const means = ratios.map(studentOfRounds);
    row(title, means[0].rounds, ...means.map(ratioText));
  }
  for (const { title, ratios } of told.slice(0, byRound.length)) {
    begin(`\n### Of single services: ${title}`, 'service', ...names);
    for (const [index, { service }] of services.entries()) {
      const each = ratios.map((ofServices) => {
        const { ratio, less, rounds } = ratioOfRounds([ofServices[index]]);
        return `${ratio.toFixed(3)}, less in ${less} of ${rounds}`;
      });
      row(service, ...each);
    }
  }
}

/** A policy learns in its own turns alone, and begins when the service does. */
function tellParts(services, byRound) {
  const parts = Array.from({ length: PARTS }, (_, part) => figuresOfPart(part));
  for (const one of byRound) {
    begin(`\n### As the turns went by: ${one.title}`, 'turns', ...Object.keys(parts[0]));
    for (const [part, figures] of parts.entries()) {
      const ratios = Object.values(figures).map((figure) => ratiosOf(services, figure, one));
      row(`part ${part + 1} of ${PARTS}`, ...ratios.map((each) => ratioText(meanOfRounds(each))));
    }
  }
}

function tellTurns(services, compared) {
  const names = [...new Set(compared.flatMap(({ own, theirs }) => [...own, ...theirs]))];
  const turns = services.map(({ arms }) => turnsOf(names.map((name) => arms.get(name))));
  for (const { title, own, theirs } of compared) {
    const columns = ['service', 'turns of each', 'p99', 'p99.9', 'time boosted'];
    begin(`\n### All turns together: ${title}`, ...columns);
    const places = [own, theirs].map((list) => list.map((name) => names.indexOf(name)));
    const { services: told, all } = compareByTurn(turns, ...places);
    for (const [index, { turns: count, p99, p999, premium }] of told.entries()) {
      row(services[index].service, count, ratioText(p99), ratioText(p999), ratioText(premium));
    }
    const sum = told.reduce((so, { turns: count }) => so + count, 0);
    row('geometric mean', sum, ratioText(all.p99), ratioText(all.p999), ratioText(all.premium));
  }
}

const services = [...cellsIn(process.argv[2])].map(([service, arms]) => ({ service, arms }));
const { byRound, byEach, byBase } = comparisons((names) => {
  const has = (arms, name) => arms.get(name)?.every((cell) => cell.byTurn !== undefined) ?? false;
  return services.every(({ arms }) => names.every((name) => has(arms, name)));
});
tellRounds(services, byRound, byEach);
tellParts(services, byRound);
tellTurns(services, [...byRound, ...byBase]);
