// The paper's two validations (VEE'19, section 4.4): the time of I/O does not depend on frequency,
// and total latency falls with it, the less the more of it is I/O.
//
//   node bench/boost/validate.mjs [--rounds 3] [--seconds 3] [--services cpu,redis,…]
//     [--seconds-max S] [--out DIR] [--scratch DIR]
//
// I/O is what `bobtail report` says it is. First all is recorded, which is what wants a quiet
// machine, then reported. A run goes on where the last one stopped. A service's rate
// is the mean of its rounds in `run.mjs`, which has to have run before.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { seededRandom, shuffled } from '../../packages/bobtail/dist/prove/shuffle.js';
import { meansOf } from '../harness/bobtail.mjs';
import { BASE_FLAGS, SERVICES } from './arms.mjs';
import { cellsIn, liveMean } from './cells.mjs';
import { atFrequency, FREQUENCIES, record } from './held.mjs';
import { besideDatabases, overdueAfter } from './pieces.mjs';
import { driven } from './shared-lever.mjs';

const text = (fallback) => ({ type: 'string', default: fallback });
const { values } = parseArgs({
  options: {
    rounds: text('3'),
    seconds: text('3'),
    services: text(Object.keys(SERVICES).join(',')),
    'seconds-max': text('0'),
    node: text(join('node_modules', 'node24', 'bin', 'node')),
    out: text(join('bench', 'runs', `${new Date().toISOString().slice(0, 10)}-boost`)),
    scratch: text(join(tmpdir(), 'bobtail-bench-validate')),
  },
});

const seconds = Number(values.seconds);
/** Of the report's rows those of all routes together; their own rows follow. */
const isAll = (route) => route === '*';
const isOverdue = overdueAfter(Number(values['seconds-max']));

const services = values.services.split(',');
const cells = Array.from({ length: Number(values.rounds) }, (_, index) => index + 1).flatMap(
  (round) => {
    const order = shuffled(FREQUENCIES, seededRandom(round));
    return order.map((ghz) => ({ round, ghz }));
  },
);
const folderOf = (service, { round, ghz }) => join(values.scratch, `${service}-${ghz}-${round}`);

/** Records services at one frequency; false when time is up. */
async function recordCell(cell, left, environment) {
  for (const service of left) {
    if (isOverdue()) return false;
    const ratePerS = liveMean(cellsIn(values.out), { service, figure: 'ratePerS' });
    const load = { ratePerS, seconds, seed: cell.round };
    const folder = folderOf(service, cell);
    await record({ service, folder, node: values.node, flags: BASE_FLAGS, environment, ...load });
    process.stderr.write(`${service} · round ${cell.round} · ${cell.ghz} GHz\n`);
  }
  return true;
}

/** Records what is not there yet; false when time is up. */
async function recordAll(environment) {
  for (const cell of cells) {
    const missing = () => services.filter((service) => !existsSync(folderOf(service, cell)));
    while (missing().length > 0) {
      const take = () => recordCell(cell, missing(), environment);
      if (isOverdue() || !(await driven(() => atFrequency(cell.ghz, take)))) return false;
    }
  }
  return true;
}

mkdirSync(values.scratch, { recursive: true });
if (await besideDatabases(services, recordAll)) {
  const results = [];
  for (const service of services) {
    for (const cell of cells) {
      results.push({ service, ...cell, ...(await meansOf(folderOf(service, cell), isAll)) });
    }
  }
  const lines = results.map((result) => JSON.stringify(result));
  writeFileSync(join(values.out, 'validation.jsonl'), `${lines.join('\n')}\n`);
}
