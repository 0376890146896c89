// Do collections last longer when a service is recorded, and is it V8 that makes them longer where
// promises have hooks? By V8's own trace of them, recorded, with empty hooks instead, and without
// any, in turns, at full speed.
//
//   node --single-threaded-gc bench/boost/recorded-pauses.mjs [--service cpu] [--rounds 4]
//     [--rate 3000] [--semi-space 4] [--flags=--no-maglev] [--node PATH]
//
// What a replay predicts of a service rests on the pauses that were recorded. The trace of each is
// on the service's output (`--trace-gc-nvp`), so all arms print as much.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { seededRandom, shuffled } from '../../packages/bobtail/dist/prove/shuffle.js';
import { mean, medianInterval } from '../harness/statistics.mjs';
import { flagsOf, HOOKED, SERVICES, semiSpace, UNHOOKED } from './arms.mjs';
import { besideDatabases } from './pieces.mjs';
import { tracedCollections } from './traced-gc.mjs';

const text = (fallback) => ({ type: 'string', default: fallback });
const { values } = parseArgs({
  options: {
    service: text('cpu'),
    rounds: text('4'),
    rate: text('3000'),
    'semi-space': text('4'),
    flags: text(''),
    node: text(join('node_modules', 'node24', 'bin', 'node')),
  },
});
if (SERVICES[values.service] === undefined) {
  process.stderr.write(`no service ${values.service}; there are ${Object.keys(SERVICES)}\n`);
  process.exit(64);
}
/** Of V8's trace: its word for a kind, and ours. */
const KINDS = { mc: 'mark-compact', s: 'scavenge' };

function tell(arm, collections) {
  for (const [word, kind] of Object.entries(KINDS)) {
    const all = collections.filter(({ gc }) => gc === word);
    if (all.length === 0) continue;
    const ms = (figure) => medianInterval(all.map((one) => Number(one[figure])));
    const told = ['pause', ...(word === 'mc' ? ['evacuate', 'mark', 'clear'] : [])].map(
      (figure) => {
        const { median, low, high } = ms(figure);
        return `${figure} ${median.toFixed(2)} ms [${low.toFixed(2)}–${high.toFixed(2)}]`;
      },
    );
    // A whole collection is not told how much of the young generation survived.
    if (word === 's') told.push(`survived ${survivedKb(all)} kB in the mean`);
    process.stdout.write(`${arm}: ${all.length} × ${kind}, ${told.join(', ')}\n`);
  }
}

/** Of a scavenge what is still there after it, the first time or again, in the mean. */
function survivedKb(scavenges) {
  return Math.round(mean(scavenges.map((one) => Number(one.new_space_survived))) / 1000);
}

const ARMS = ['unrecorded', 'unrecorded again', 'empty hooks', 'recorded'];
const { service, node, rate, 'semi-space': semiSpaceMb } = values;
const flags = flagsOf({ isTuned: true }, `${semiSpace(semiSpaceMb)} ${values.flags}`.trim());
await besideDatabases([service], async (databases) => {
  const how = { service, node, flags, ratePerS: Number(rate) };
  const collections = new Map(ARMS.map((arm) => [arm, []]));
  for (let round = 1; round <= Number(values.rounds); round += 1) {
    for (const arm of shuffled(ARMS, seededRandom(round))) {
      const isRecorded = arm === 'recorded';
      const hooks = arm === 'empty hooks' ? HOOKED : UNHOOKED;
      const told = { environment: { ...databases, ...hooks }, seed: round, isRecorded };
      collections.get(arm).push(...(await tracedCollections({ ...how, ...told })));
    }
  }
  for (const [arm, own] of collections) tell(arm, own);
});
