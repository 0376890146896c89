// How many requests a second of CPU time replays.
//
//   node bench/whatif/throughput.mjs --out DIR [--kinds change,combined,…] RECORDING…
//
// One `whatif` reads the recording, replays it without a change and once for each component, and
// then once for each scenario: so it is run with few and with many of the same scenario, in turns,
// and what the more of them took is told by each. CPU time of the child as the kernel counts it.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { bobtail } from '../harness/bobtail.mjs';
import { quartiles } from '../harness/statistics.mjs';

const MS_PER_TICK = 10;
/** Of the file's fields after the name: CPU time of children that were waited for. */
const CHILDREN_FIELDS = [13, 14];
const FEW = 1;
const MANY = 41;
/** Of one that tries some dozen replays to find what its energy is enough for. */
const MANY_OF_ORACLES = 5;
const ROUNDS = 5;
/** What differs between scenarios of a kind is what does not matter: each is another. */
const KINDS = {
  change: (n) => ['--set', `gc=0.${900 + n}`],
  static: (n) => ['--policy', `static:3.${100 + n}`],
  'gc-boost': (n) => ['--policy', `gc-boost:worth=1.${100 + n}`],
  'queue-boost': (n) => ['--policy', `queue-boost:k-length=2.${100 + n}`],
  combined: (n) => ['--policy', `combined:k-length=2.${100 + n}`],
  deadline: (n) => ['--policy', `deadline:chance=0.${300 + n}`],
  rubik: (n) => ['--policy', `rubik:tail=99.${800 + n}`],
  adrenaline: (n) => ['--policy', `adrenaline:tail=99.${100 + n}`],
  oracle: (n) => ['--policy', `oracle:energy=1.${100 + n}`],
};

const { values, positionals } = parseArgs({
  options: { out: { type: 'string' }, kinds: { type: 'string' } },
  allowPositionals: true,
});
if (values.out === undefined || positionals.length === 0) {
  process.stderr.write('usage: node bench/whatif/throughput.mjs --out DIR RECORDING…\n');
  process.exit(64);
}

function childrenMs() {
  const fields = readFileSync('/proc/self/stat', 'latin1').split(') ')[1].split(' ');
  return CHILDREN_FIELDS.reduce((sum, at) => sum + Number(fields[at]) * MS_PER_TICK, 0);
}

/** CPU time of one `whatif` with so many scenarios, and what it answers. */
async function run(recording, scenario, count) {
  const scenarios = Array.from({ length: count }, (_, n) => scenario(n)).flat();
  const beforeMs = childrenMs();
  const answer = JSON.parse(await bobtail(['whatif', recording, '--json', ...scenarios]));
  return { cpuMs: childrenMs() - beforeMs, answer };
}

const kinds = values.kinds?.split(',') ?? Object.keys(KINDS);
const rows = [];
for (const recording of positionals) {
  for (const kind of kinds) {
    const scenario = KINDS[kind];
    if (scenario === undefined) throw new Error(`no ${kind}; there are ${Object.keys(KINDS)}`);
    const count = kind === 'oracle' ? MANY_OF_ORACLES : MANY;
    const msEach = [];
    let answered;
    for (let round = 0; round < ROUNDS; round += 1) {
      const few = await run(recording, scenario, FEW);
      const many = await run(recording, scenario, count);
      msEach.push((many.cpuMs - few.cpuMs) / (count - FEW));
      answered = many.answer;
    }
    const requests = answered.requests + (answered.leftOutRequests ?? 0);
    const perS = msEach.map((ms) => Math.round((requests / ms) * 1000));
    const row = { recording: basename(recording), kind, scenarios: count - FEW, requests, perS };
    rows.push({ ...row, events: answered.fidelity.events, loopUse: answered.unchanged.loopUse });
    const spread = `${Math.min(...perS)} to ${Math.max(...perS)}`;
    const { median } = quartiles(perS);
    process.stdout.write(`${row.recording} ${kind}: ${median} requests/s (${spread})\n`);
  }
}
mkdirSync(values.out, { recursive: true });
const about = { host: `${cpus()[0].model}, ${cpus().length} CPUs`, rows };
writeFileSync(join(values.out, 'throughput.json'), `${JSON.stringify(about, null, 2)}\n`);
