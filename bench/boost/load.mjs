// The load of one recorded run: the warm-up of live runs, then open-loop Poisson arrivals at a
// fixed rate, the same for a seed.
//
//   PORT=N node bench/boost/load.mjs RATE SECONDS SEED
import { seededRandom } from '../../packages/bobtail/dist/prove/shuffle.js';
import { LOAD_CORE, pin, yieldToDatabases } from '../harness/cpu.mjs';
import { Connections, openLoop } from '../harness/open-loop.mjs';
import { requests, SETTLE_MS, warm } from './warm.mjs';

const [ratePerS, seconds, seed] = process.argv.slice(2).map(Number);

pin(process.pid, LOAD_CORE);
yieldToDatabases();
const connections = await Connections.open(Number(process.env.PORT), 64);
await warm(connections);
const durationMs = SETTLE_MS + seconds * 1000;
const load = { requests, ratePerS, durationMs, random: seededRandom(seed) };
const { failed, unanswered } = await openLoop(connections, load);
connections.close();
process.exit(failed + unanswered > 0 ? 1 : 0);
