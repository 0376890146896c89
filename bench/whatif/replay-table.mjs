// Recordings replayed under several settings, side by side: a table of how much less their tail is
// and of the modelled energy, and the answers that it is made of.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { energyOfTurns } from '../boost/predicted.mjs';
import { turnsShare } from '../boost/recorded-service.mjs';
import { bobtail } from '../harness/bobtail.mjs';

/** `--recordings DIR --out DIR` of the command line; ends the process where one is missing. */
export function foldersOf(script) {
  const text = { type: 'string' };
  const { values } = parseArgs({ options: { recordings: text, out: text } });
  if (values.out !== undefined && values.recordings !== undefined) return values;
  process.stderr.write(`usage: node bench/whatif/${script} --recordings DIR --out DIR\n`);
  process.exit(64);
}

const row = (...cells) => `| ${cells.join(' | ')} |`;

/** The tail less, in per cent, and energy: of the time under load where turns were recorded. */
function told(scenario, turns) {
  const less = (-100 * scenario.percentiles[0].change).toFixed(1);
  return `${less} %, ${energyOfTurns(scenario, turns).toFixed(3)}`;
}

/**
 * Of each recording in `recordings` a row for each of `policies`, with a cell for each of
 * `columns`, `{title, set}`: `set` makes a policy's name what `whatif --set` takes. Writes
 * `tables.md` and an answer for each recording to `out`; `tail` is the percentile.
 */
export async function writeTable({ recordings, out, policies, columns, tail, title }) {
  mkdirSync(out, { recursive: true });
  const head = ['recording', 'policy', ...columns.map((column) => column.title)];
  const lines = [row(...head), row(...head.map(() => '---'))];
  for (const name of readdirSync(recordings).sort()) {
    const folder = join(recordings, name);
    const sets = policies.flatMap((policy) => columns.map(({ set }) => ['--set', set(policy)]));
    const args = ['whatif', folder, '--json', '--tail', String(tail), ...sets.flat()];
    const { requests, unchanged, scenarios } = JSON.parse(await bobtail(args));
    const short = basename(name, '.bobtail');
    const turns = { turnsShare: turnsShare(folder) };
    const answer = JSON.stringify({ requests, ...turns, unchanged, scenarios });
    writeFileSync(join(out, `${short}.json`), `${answer}\n`);
    for (const [n, policy] of policies.entries()) {
      const own = scenarios.slice(n * columns.length, (n + 1) * columns.length);
      lines.push(row(short, policy, ...own.map((one) => told(one, turns))));
    }
    process.stderr.write(`${short}\n`);
  }
  writeFileSync(join(out, 'tables.md'), `${title}\n\n${lines.join('\n')}\n`);
}
