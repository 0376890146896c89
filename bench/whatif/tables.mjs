// Prints predictions beside what came, as Markdown: node bench/whatif/tables.mjs DIR
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { INJECTIONS } from './cells.mjs';

const folder = process.argv[2];
if (folder === undefined) {
  process.stderr.write('usage: node bench/whatif/tables.mjs DIR\n');
  process.exit(64);
}
const cell = (round, name) => {
  const file = join(folder, `${round}-${name}.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
};
const ms = (ns) => (ns / 1e6).toFixed(2);
const percent = (ratio) => `${ratio >= 0 ? '+' : '−'}${Math.abs(ratio * 100).toFixed(1)} %`;

const header = [
  ...['change', 'round', 'percentile', 'before', 'again (A/A)', 'predicted', 'came', 'off'],
  ...['within 10 % + A/A', 'told apart from no change'],
];
process.stdout.write(`| ${header.join(' | ')} |\n|${header.map(() => '---|').join('')}\n`);
for (const { component, from, again, cell: name } of INJECTIONS) {
  for (let round = 1; cell(round, name) !== undefined; round++) {
    const [first, second, came] = [from, again, name].map((one) => cell(round, one));
    const scenario = first?.scenarios.find((one) => one.name.startsWith(`${component}=`));
    if (second === undefined || scenario === undefined) continue;
    for (const { percentile, latencyNs } of scenario.percentiles) {
      const [before, repeated, after] = [first, second, came].map((one) => {
        return one.fidelity.recordedNs[percentile];
      });
      const within = 0.1 * after + Math.abs(repeated - before);
      const isWithin = Math.abs(latencyNs - after) <= within;
      // Else who predicts that nothing changes is right, too.
      const isTold = Math.abs(before - after) > within;
      const noise = `${ms(repeated)} (${percent(repeated / before - 1)})`;
      const figures = [ms(before), noise, ms(latencyNs), ms(after), percent(latencyNs / after - 1)];
      const row = [
        `\`${scenario.name}\``,
        round,
        `p${percentile}`,
        ...figures,
        isWithin ? 'yes' : 'no',
        isTold ? 'yes' : 'no',
      ];
      process.stdout.write(`| ${row.join(' | ')} |\n`);
    }
  }
}
