// Answers of `whatif --json` about policies, Combined among them, told by what Combined left: of
// each recording p99.9, p99 and what was spent beyond the base, and the geometric means. All are to
// have the same policies.
//
//   node bench/whatif/by-combined.mjs bench/runs/2026-11-29-chance
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { head, row } from '../harness/printed-table.mjs';
import { geometricMean } from '../harness/statistics.mjs';
import { outcomeOf } from './schemes-list.mjs';

const TAILS = [99.9, 99];

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

const folder = process.argv[2];
if (folder === undefined) {
  process.stderr.write('usage: node bench/whatif/by-combined.mjs DIR\n');
  process.exit(64);
}
const answers = readdirSync(folder)
  .filter((name) => name.endsWith('.json'))
  .sort()
  .map((name) => {
    const answer = JSON.parse(readFileSync(join(folder, name), 'utf8'));
    return { name: basename(name, '.json'), answer, combined: outcomeOf(answer, 'combined') };
  });
const policies = answers[0].answer.scenarios
  .map(({ name }) => name.replace('policy=', ''))
  .filter((name) => name !== 'combined');
const tellOf = (policy) =>
  answers.map(({ answer, combined }) => {
    return ratios(outcomeOf(answer, policy), combined);
  });
for (const policy of policies) {
  process.stdout.write(`\n### ${policy}\n\n`);
  head('recording', 'requests', 'loop busy', 'p99.9; p99; premium, by Combined');
  const all = tellOf(policy);
  for (const [index, { name, answer }] of answers.entries()) {
    const busy = `${(answer.unchanged.loopUse * 100).toFixed(0)} %`;
    row(name, answer.requests, busy, told(all[index]));
  }
  const finite = (at) => all.map((one) => one[at]).filter(Number.isFinite);
  const means = [0, 1, 2].map((at) => geometricMean(finite(at)));
  const counts = [0, 1, 2].map((at) => finite(at).length).join('; ');
  const premiums = finite(2);
  const range = `premium ${told([Math.min(...premiums)])} to ${told([Math.max(...premiums)])}`;
  row(`geometric mean (of ${counts})`, '', '', `${told(means)} (${range})`);
}
