// What a collection waits for that is no collecting: a helper of V8 that compiles and gets no core.
//
//   sudo node --single-threaded-gc bench/boost/starved-helpers.mjs [--rounds 4] [--seconds 8]
//     [--rate 4500] [--service cpu] [--flags=--max-semi-space-size=4] [--scratch DIR]
//
// The same service is recorded with its helpers on the load's core, where they go before the load
// or only run when nothing else wants to (`services/v8-workers.cjs`), in turns (A B B A). Of each
// recording a line: its collections of 10 ms and more, and how many there are in all.
import { mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bobtail } from '../harness/bobtail.mjs';
import { LOAD_CORE } from '../harness/cpu.mjs';
import { flagsOf, TUNED } from './arms.mjs';
import { atFrequency, record } from './held.mjs';
import { besideDatabases } from './pieces.mjs';
import { driven } from './shared-lever.mjs';

const text = (fallback) => ({ type: 'string', default: fallback });
const { values } = parseArgs({
  options: {
    rounds: text('4'),
    seconds: text('8'),
    rate: text('4500'),
    service: text('cpu'),
    flags: text(TUNED),
    node: text(join('node_modules', 'node24', 'bin', 'node')),
    scratch: text(join(tmpdir(), 'bobtail-bench-starved')),
  },
});
const LONG_NS = 10e6;
const WAYS = [
  ['first', `cpu:${LOAD_CORE}`],
  ['starved', `yield,cpu:${LOAD_CORE}`],
];

async function recordOnce(way, helpers, seed, environment) {
  const folder = join(values.scratch, `${way}-${seed}`);
  const { service, node } = values;
  const flags = flagsOf({ isTuned: true }, values.flags);
  const load = { ratePerS: Number(values.rate), seconds: Number(values.seconds), seed };
  const how = { service, node, flags, environment: { ...environment, V8_HELPERS: helpers } };
  await driven(() => atFrequency('4', () => record({ ...how, folder, ...load })));
  const { gc, pauses } = JSON.parse(await bobtail(['report', folder, '--json']));
  const long = pauses.filter(({ durationNs }) => durationNs >= LONG_NS);
  const told = long.map(({ kind, durationNs }) => `${kind} ${(durationNs / 1e6).toFixed(0)} ms`);
  const count = gc.reduce((sum, { kind, pauses: n }) => sum + (/marking/.test(kind) ? 0 : n), 0);
  console.log(`${seed} ${way}: ${told.join(', ') || 'none'}, of ${count}`);
  rmSync(folder, { recursive: true });
}

mkdirSync(values.scratch, { recursive: true });
await besideDatabases([values.service], async (environment) => {
  for (let seed = 1; seed <= Number(values.rounds); seed += 1) {
    for (const [way, helpers] of seed % 2 === 1 ? WAYS : WAYS.toReversed()) {
      await recordOnce(way, helpers, seed, environment);
    }
  }
});
