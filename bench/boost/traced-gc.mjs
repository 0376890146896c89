// V8's own trace of the collections of a service, recorded or not, at full speed.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRandom } from '../../packages/bobtail/dist/prove/shuffle.js';
import { SERVER_CORE } from '../harness/cpu.mjs';
import { Connections, openLoop } from '../harness/open-loop.mjs';
import { probeAside, recorderLast } from './drivers.mjs';
import { startRecorded } from './recorded-service.mjs';
import { Running } from './running.mjs';
import { CONNECTIONS, scriptOf, serviceEnv } from './service.mjs';
import { requests, settle, warm } from './warm.mjs';

const LOAD_MS = 8000;

function start(args, { env, node, isRecorded, folder }) {
  if (isRecorded) return startRecorded(args, { env, node, out: join(folder, 'recording') });
  return Running.start(args, { env, core: SERVER_CORE, node });
}

/**
 * `{gc, pause, …}` of each collection that `--trace-gc-nvp` told, as V8 calls them: `name=value` up
 * to Node 24, JSON on Node 26.
 */
export function collectionsOf(output) {
  const fieldsOf = (line) => {
    const found = [...line.matchAll(/([\w.]+)"?[=:]"?([\w.-]+)/g)];
    return Object.fromEntries(found.map(([, name, value]) => [name, value]));
  };
  return output
    .split('\n')
    .map(fieldsOf)
    .filter(({ gc }) => gc !== undefined);
}

/**
 * Collections while there was load, after the warm-up: what `--trace-gc-nvp` tells of each.
 * `flags` are of the service's Node, `environment` is the databases' and what it is told besides.
 */
export async function tracedCollections({ service, flags, seed, environment, ratePerS, ...how }) {
  const folder = mkdtempSync(join(tmpdir(), 'bobtail-bench-traced-'));
  const args = [...flags, '--trace-gc-nvp', scriptOf(service)];
  const running = await start(args, { ...how, env: serviceEnv({ seed, environment }), folder });
  try {
    const connections = await Connections.open(running.port, CONNECTIONS);
    if (how.isRecorded) {
      probeAside(running.child.pid);
      recorderLast(running.child.pid);
    }
    await warm(connections);
    await settle(connections, ratePerS, seed);
    let output = '';
    running.child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    const random = seededRandom(seed);
    await openLoop(connections, { requests, ratePerS, durationMs: LOAD_MS, random });
    connections.close();
    const collections = collectionsOf(output);
    if (collections.length === 0) throw new Error(`${service} told no collection of ${ratePerS}/s`);
    return collections;
  } finally {
    await running.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
