// The load of one recorded run: the warm-up of live runs, then open-loop Poisson arrivals at a
// fixed rate, the same for a seed. Unlike live, what came while the host took time from this
// machine is made up for: it goes on for up to twice as long.
//
//   PORT=N node bench/boost/load.mjs RATE SECONDS SEED
import { seededRandom } from '../../packages/bobtail/dist/prove/shuffle.js';
import { LOAD_CORE, pin, yieldToDatabases } from '../harness/cpu.mjs';
import { Connections, openLoop } from '../harness/open-loop.mjs';
import { StolenWatch } from '../harness/stolen.mjs';
import { requests, SETTLE_MS, warm } from './warm.mjs';

/** As long as what is wanted takes on a machine that is left alone: half may be left out. */
const PROLONGED_MAX = 2;
const [ratePerS, seconds, seed] = process.argv.slice(2).map(Number);

pin(process.pid, LOAD_CORE);
yieldToDatabases();
const connections = await Connections.open(Number(process.env.PORT), 64);
await warm(connections);
const wantedMs = SETTLE_MS + seconds * 1000;
const durationMs = PROLONGED_MAX * wantedMs;
const watch = new StolenWatch();
const isEnough = () => watch.undisturbedMs() >= wantedMs;
const load = { requests, ratePerS, durationMs, random: seededRandom(seed), isEnough };
const { failed, unanswered } = await openLoop(connections, load);
watch.stop();
connections.close();
process.exit(failed + unanswered > 0 ? 1 : 0);
