// Do collections last longer when a service is recorded? By V8's own trace of them, recorded and
// not, in turns, at full speed.
//
//   node --single-threaded-gc bench/boost/recorded-pauses.mjs [--service cpu] [--rounds 4]
//     [--rate 3000] [--semi-space 4] [--node PATH]
//
// What a replay predicts of a service rests on the pauses that were recorded. The trace of each is
// on the service's output (`--trace-gc-nvp`), so both arms print as much.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { seededRandom, shuffled } from '../../packages/bobtail/dist/prove/shuffle.js';
import { SERVER_CORE } from '../harness/cpu.mjs';
import { Connections, openLoop } from '../harness/open-loop.mjs';
import { medianInterval } from '../harness/statistics.mjs';
import { flagsOf, SERVICES, semiSpace } from './arms.mjs';
import { besideDatabases } from './pieces.mjs';
import { startRecorded } from './recorded-service.mjs';
import { Running } from './running.mjs';
import { CONNECTIONS, scriptOf, serviceEnv } from './service.mjs';
import { requests, settle, warm } from './warm.mjs';

const text = (fallback) => ({ type: 'string', default: fallback });
const { values } = parseArgs({
  options: {
    service: text('cpu'),
    rounds: text('4'),
    rate: text('3000'),
    'semi-space': text('4'),
    node: text(join('node_modules', 'node24', 'bin', 'node')),
  },
});
if (SERVICES[values.service] === undefined) {
  process.stderr.write(`no service ${values.service}; there are ${Object.keys(SERVICES)}\n`);
  process.exit(64);
}
const LOAD_MS = 8000;
/** Of V8's trace: its word for a kind, and ours. */
const KINDS = { mc: 'mark-compact', s: 'scavenge' };

const flags = flagsOf({ isTuned: true }, semiSpace(values['semi-space']));
const args = [...flags, '--trace-gc-nvp', scriptOf(values.service)];

function start(isRecorded, { folder, env }) {
  const { node } = values;
  if (isRecorded) return startRecorded(args, { env, node, out: join(folder, 'recording') });
  return Running.start(args, { env, core: SERVER_CORE, node });
}

/** Lines of V8's trace while there was load, after the warm-up. */
async function traced(isRecorded, environment, seed) {
  const folder = mkdtempSync(join(tmpdir(), 'bobtail-bench-pauses-'));
  const running = await start(isRecorded, { folder, env: serviceEnv({ seed, environment }) });
  try {
    const ratePerS = Number(values.rate);
    const connections = await Connections.open(running.port, CONNECTIONS);
    await warm(connections);
    await settle(connections, ratePerS, seed);
    let output = '';
    running.child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    const random = seededRandom(seed);
    await openLoop(connections, { requests, ratePerS, durationMs: LOAD_MS, random });
    connections.close();
    return output.split('\n');
  } finally {
    await running.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `{gc, pause, …}` of a line; nothing of one that is no trace. */
function fieldsOf(line) {
  return Object.fromEntries([...line.matchAll(/([\w.]+)=([\w.-]+)/g)].map((one) => one.slice(1)));
}

function tell(arm, lines) {
  for (const [word, kind] of Object.entries(KINDS)) {
    const all = lines.map(fieldsOf).filter(({ gc }) => gc === word);
    if (all.length === 0) continue;
    const ms = (figure) => medianInterval(all.map((one) => Number(one[figure])));
    const told = ['pause', ...(word === 'mc' ? ['evacuate', 'mark', 'clear'] : [])].map(
      (figure) => {
        const { median, low, high } = ms(figure);
        return `${figure} ${median.toFixed(2)} ms [${low.toFixed(2)}–${high.toFixed(2)}]`;
      },
    );
    process.stdout.write(`${arm}: ${all.length} × ${kind}, ${told.join(', ')}\n`);
  }
}

const ARMS = ['unrecorded', 'unrecorded again', 'recorded'];
await besideDatabases([values.service], async (environment) => {
  const lines = new Map(ARMS.map((arm) => [arm, []]));
  for (let round = 1; round <= Number(values.rounds); round += 1) {
    for (const arm of shuffled(ARMS, seededRandom(round))) {
      lines.get(arm).push(...(await traced(arm === 'recorded', environment, round)));
    }
  }
  for (const [arm, own] of lines) tell(arm, own);
});
