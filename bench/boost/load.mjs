// The load of one recorded run: open-loop Poisson arrivals at a fixed rate, the same for a seed.
//
//   PORT=N node bench/boost/load.mjs RATE SECONDS SEED
import { seededRandom } from '../../packages/bobtail/dist/prove/shuffle.js';
import { LOAD_CORE, pin } from '../harness/cpu.mjs';
import { Connections, closedLoop, openLoop, requestBytes } from '../harness/open-loop.mjs';

const [ratePerS, seconds, seed] = process.argv.slice(2).map(Number);
const PATHS = 5000;
const WARM_MS = 1000;

pin(process.pid, LOAD_CORE);
const requests = Array.from({ length: PATHS }, (_, n) => requestBytes(`/${(n * 37) % 1000}`));
const connections = await Connections.open(Number(process.env.PORT), 64);
await closedLoop(connections, { requests, concurrency: 8, durationMs: WARM_MS });
const load = { requests, ratePerS, durationMs: seconds * 1000, random: seededRandom(seed) };
const { failed, unanswered } = await openLoop(connections, load);
connections.close();
process.exit(failed + unanswered > 0 ? 1 : 0);
