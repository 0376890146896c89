// How often should a policy look? Replays of recordings under Queue Boost and Combined that look as
// often as their period says, between the VEE'19 paper's 1 µs and the slides' 1 ms, whatever that
// costs; and as often as a budget of 1 % pays for.
//
//   node bench/whatif/periods.mjs --recordings DIR --out DIR
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { energyOfTurns } from '../boost/predicted.mjs';
import { turnsShare } from '../boost/recorded-service.mjs';
import { bobtail } from '../harness/bobtail.mjs';

const { values } = parseArgs({
  options: { recordings: { type: 'string' }, out: { type: 'string' } },
});
if (values.out === undefined || values.recordings === undefined) {
  process.stderr.write('usage: node bench/whatif/periods.mjs --recordings DIR --out DIR\n');
  process.exit(64);
}
const PERIODS = ['1us', '10us', '50us', '200us', '1ms'];
const POLICIES = ['queue-boost', 'combined'];
const TAIL = 99;

/** Columns of a policy: each period without a bound, and its default within one. */
const columns = [...PERIODS, 'budget 1 %'];
const scenario = (policy, period) => `budget=none,policy=${policy}:period=${period}`;

mkdirSync(values.out, { recursive: true });
const row = (...cells) => `| ${cells.join(' | ')} |`;
const lines = [
  row('recording', 'policy', ...columns),
  row('---', '---', ...columns.map(() => '---')),
];
for (const name of readdirSync(values.recordings).sort()) {
  const sets = POLICIES.flatMap((policy) => [
    ...PERIODS.map((period) => scenario(policy, period)),
    `policy=${policy}`,
  ]);
  const flags = sets.flatMap((one) => ['--set', one]);
  const args = [
    'whatif',
    join(values.recordings, name),
    '--json',
    '--tail',
    String(TAIL),
    ...flags,
  ];
  const { requests, unchanged, scenarios } = JSON.parse(await bobtail(args));
  const short = basename(name, '.bobtail');
  const turns = { turnsShare: turnsShare(join(values.recordings, name)) };
  writeFileSync(
    join(values.out, `${short}.json`),
    `${JSON.stringify({ requests, ...turns, unchanged, scenarios })}\n`,
  );
  for (const [n, policy] of POLICIES.entries()) {
    const own = scenarios.slice(n * columns.length, (n + 1) * columns.length);
    const cells = own.map((one) => {
      const less = (-100 * one.percentiles[0].change).toFixed(1);
      return `${less} %, ${energyOfTurns(one, turns).toFixed(3)}`;
    });
    lines.push(row(short, policy, ...cells));
  }
  process.stderr.write(`${short}\n`);
}
const title = `p${TAIL} less, and modelled energy, by how often the policy looks`;
writeFileSync(join(values.out, 'tables.md'), `${title}\n\n${lines.join('\n')}\n`);
