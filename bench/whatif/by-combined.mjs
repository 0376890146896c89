// Answers of `whatif --json` about policies, Combined among them, told by what Combined left: of
// each recording p99.9, p99 and what was spent beyond the base, and the geometric means. All are to
// have the same policies; under a change, such as `rate=1.7,policy=combined`, the same change, and
// that alone as a scenario of its own, of which is told how busy the loop is.
//
//   node bench/whatif/by-combined.mjs [--services | --busy] bench/runs/2026-11-29-chance…
//
// With `--services` the geometric means of the recordings of each service, as `redis` of
// `redis-61.json`, instead of each recording; with `--busy` those of recordings whose loops are
// busy for as much of the time. Of several folders all together.
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { head, row } from '../harness/printed-table.mjs';
import { geometricMean } from '../harness/statistics.mjs';
import { outcomeOf } from './schemes-list.mjs';

const TAILS = [99.9, 99];
/** Recordings are told together by for how much of the time the loop is busy, in per cent. */
const BUSY_FROM = [0, 40, 60, 80, 100];

/** What is left of both tails, and of the premium, by Combined's; none where it cannot be told. */
function ratios(own, combined) {
  const tails = TAILS.map((tail) => {
    const [ours, theirs] = [own, combined].map(({ percentiles }) => {
      return percentiles.find(({ percentile }) => percentile === tail)?.latencyNs;
    });
    return ours / theirs;
  });
  const [premium, theirs] = [own, combined].map(({ policy }) => policy.energy - 1);
  return [...tails, premium / theirs];
}

function told(list) {
  return list.map((ratio) => (Number.isFinite(ratio) ? ratio.toFixed(3) : '–')).join('; ');
}

const { values, positionals } = parseArgs({
  options: {
    services: { type: 'boolean', default: false },
    busy: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
if (positionals.length === 0) {
  process.stderr.write('usage: node bench/whatif/by-combined.mjs [--services | --busy] DIR…\n');
  process.exit(64);
}
const answers = positionals.flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => {
      const answer = JSON.parse(readFileSync(join(folder, name), 'utf8'));
      return { name: basename(name, '.json'), answer, combined: outcomeOf(answer, 'combined') };
    }),
);
const hasPolicy = ({ name }) => name.includes('policy=');
const policies = answers[0].answer.scenarios
  .filter(hasPolicy)
  .map(({ name }) => name.replace(/^.*policy=/, ''))
  .filter((name) => name !== 'combined');
const tellOf = (policy) =>
  answers.map(({ answer, combined }) => {
    return ratios(outcomeOf(answer, policy), combined);
  });

/** Of each of the three the ratios that can be told. */
function finiteOf(all) {
  return [0, 1, 2].map((at) => all.map((one) => one[at]).filter(Number.isFinite));
}

/** Their geometric means; none of none. */
function meansOf(all) {
  return finiteOf(all).map(geometricMean);
}

/** How many they are. */
function countsOf(all) {
  return finiteOf(all)
    .map(({ length }) => length)
    .join('; ');
}

/** Also how many times as many boosts there were as under Combined. */
function tellServices(policy, all) {
  const boosts = answers.map(({ answer, combined }) => {
    return outcomeOf(answer, policy).policy.boosts / combined.policy.boosts;
  });
  const boostsOf = (list) => geometricMean(list).toFixed(2);
  head('service', 'recordings', 'p99.9; p99; premium, by Combined', 'of', 'boosts');
  const names = answers.map(({ name }) => name.replace(/-[^-]*$/, ''));
  const each = [...new Set(names)].map((service) => {
    const isOwn = (_, at) => names[at] === service;
    const own = all.filter(isOwn);
    const means = meansOf(own);
    row(service, own.length, told(means), countsOf(own), boostsOf(boosts.filter(isOwn)));
    return means;
  });
  const title = 'geometric mean of services';
  row(title, answers.length, told(meansOf(each)), countsOf(all), boostsOf(boosts));
}

/** For how much of the time the loop is busy without a policy, in per cent. */
function busyOf(answer) {
  const base = answer.scenarios.find((one) => !hasPolicy(one)) ?? answer.unchanged;
  return base.loopUse * 100;
}

function tellBusy(all) {
  head('loop busy', 'recordings', 'p99.9; p99; premium, by Combined', 'of', 'less of all three');
  for (const [at, from] of BUSY_FROM.entries()) {
    const below = BUSY_FROM[at + 1] ?? Number.POSITIVE_INFINITY;
    const own = all.filter((_, index) => {
      const busy = busyOf(answers[index].answer);
      return busy >= from && busy < below;
    });
    const less = own.filter((ratios) => ratios.every((ratio) => ratio < 1)).length;
    const title = Number.isFinite(below) ? `${from} to ${below} %` : `${from} % and more`;
    row(title, own.length, told(meansOf(own)), countsOf(own), less);
  }
}

for (const policy of policies) {
  process.stdout.write(`\n### ${policy}\n\n`);
  if (values.busy) {
    tellBusy(tellOf(policy));
    continue;
  }
  if (values.services) {
    tellServices(policy, tellOf(policy));
    continue;
  }
  head('recording', 'requests', 'loop busy', 'p99.9; p99; premium, by Combined');
  const all = tellOf(policy);
  for (const [index, { name, answer }] of answers.entries()) {
    row(name, answer.requests, `${busyOf(answer).toFixed(0)} %`, told(all[index]));
  }
  const [, , premiums] = finiteOf(all);
  const range = `premium ${told([Math.min(...premiums)])} to ${told([Math.max(...premiums)])}`;
  row(`geometric mean (of ${countsOf(all)})`, '', '', `${told(meansOf(all))} (${range})`);
}
