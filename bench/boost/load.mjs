// The load of one recorded run: open-loop Poisson arrivals at a fixed rate, the same for a seed.
//
//   PORT=N node bench/boost/load.mjs RATE SECONDS SEED
import { seededRandom } from '../../packages/bobtail/dist/prove/shuffle.js';
import { LOAD_CORE, pin, yieldToDatabases } from '../harness/cpu.mjs';
import { Connections, openLoop, requestBytes } from '../harness/open-loop.mjs';

const [ratePerS, seconds, seed] = process.argv.slice(2).map(Number);
const PATHS = 5000;

pin(process.pid, LOAD_CORE);
yieldToDatabases();
const requests = Array.from({ length: PATHS }, (_, n) => requestBytes(`/${(n * 37) % 1000}`));
const connections = await Connections.open(Number(process.env.PORT), 64);
const load = { requests, ratePerS, durationMs: seconds * 1000, random: seededRandom(seed) };
const { failed, unanswered } = await openLoop(connections, load);
connections.close();
process.exit(failed + unanswered > 0 ? 1 : 0);
