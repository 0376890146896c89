// Does V8 make the same objects old from birth each time that a service starts? By its own trace
// of collections: of starts that differ in some garbage before the first line, and recorded.
//
//   node --single-threaded-gc bench/boost/pretenured.mjs [--service postgres] [--rate 3000]
//     [--semi-space 1] [--starts 5] [--node PATH]
//
// V8 counts for each place that makes objects how many survive their first collection, and where a
// hundred and 85 % of them did it makes them in the old generation, for good (allocation-site
// pretenuring). Where the young generation is small a hundred survivors are rare, and which
// collection has them is chance. What is old from birth keeps what it refers to alive, too.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { medianInterval } from '../harness/statistics.mjs';
import { flagsOf, SERVICES, semiSpace } from './arms.mjs';
import { besideDatabases } from './pieces.mjs';
import { scriptOf } from './service.mjs';
import { tracedCollections } from './traced-gc.mjs';

const text = (fallback) => ({ type: 'string', default: fallback });
const { values } = parseArgs({
  options: {
    service: text('postgres'),
    rate: text('3000'),
    'semi-space': text('1'),
    starts: text('5'),
    node: text(join('node_modules', 'node24', 'bin', 'node')),
  },
});
const { service, node, rate, starts, 'semi-space': semiSpaceMb } = values;
if (SERVICES[service] === undefined) {
  process.stderr.write(`no service ${service}; there are ${Object.keys(SERVICES)}\n`);
  process.exit(64);
}
/** Of garbage, from one start to the next: about a fifth of a megabyte. */
const ROWS = 1700;

/** As it starts, with ever more garbage before, and recorded. */
const ARMS = [
  { name: 'as it is', rows: 0 },
  ...Array.from({ length: Number(starts) }, (_, more) => {
    return { name: `after ${(more + 1) * ROWS} rows`, rows: (more + 1) * ROWS };
  }),
  { name: 'recorded', rows: 0, isRecorded: true },
];

function tell(name, collections) {
  const scavenges = collections.filter(({ gc }) => gc === 's');
  const { median } = medianInterval(scavenges.map(({ promoted }) => Number(promoted) / 1024));
  const whole = collections.filter(({ gc }) => gc === 'mc').length;
  const told = [`${scavenges.length} scavenges`, `promoted ${median.toFixed(0)} KB each`];
  process.stdout.write(`${name}: ${[...told, `${whole} mark-compacts`].join(', ')}\n`);
}

await besideDatabases([service], async (environment) => {
  const how = { service, node, ratePerS: Number(rate), seed: 1 };
  for (const may of ['--allocation-site-pretenuring', '--no-allocation-site-pretenuring']) {
    process.stdout.write(`${may}\n`);
    const own = [...flagsOf({ isTuned: true }, semiSpace(semiSpaceMb)), may];
    for (const { name, rows, isRecorded = false } of ARMS) {
      const before = rows === 0 ? [] : ['--require', scriptOf('startup-garbage')];
      const told = { ...environment, STARTUP_ROWS: String(rows) };
      const flags = [...own, ...before];
      tell(name, await tracedCollections({ ...how, flags, environment: told, isRecorded }));
    }
  }
});
