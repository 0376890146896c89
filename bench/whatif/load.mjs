// An open load on a service of ./services.mjs: Poisson arrivals, the same with the same seed.
//
//   PORT=N node bench/whatif/load.mjs application|catalogue RATE SECONDS SEED
import { seededRandom } from '../../packages/bobtail/dist/prove/shuffle.js';
import { Connections, openLoop, requestBytes } from '../harness/open-loop.mjs';

const CONNECTIONS = 64;
const PRODUCTS = 60_000;
/** Walks that are the same in every run. */
const MIXES = {
  application: (n) => `/${(n * 37) % 1000}`,
  catalogue: (n) => `/${n % 4 === 0 ? 'search' : 'products'}/${(n * 7919) % PRODUCTS}`,
};

const [mix, rate, seconds, seed] = process.argv.slice(2);
const path = MIXES[mix];
if (path === undefined || process.env.PORT === undefined) {
  process.stderr.write('usage: PORT=N node bench/whatif/load.mjs MIX RATE SECONDS SEED\n');
  process.exit(64);
}
const [ratePerS, durationMs] = [Number(rate), Number(seconds) * 1000];
const requests = Array.from({ length: 5000 }, (_, n) => requestBytes(path(n)));
const connections = await Connections.open(Number(process.env.PORT), CONNECTIONS);
const random = seededRandom(Number(seed));
const { failed, unanswered } = await openLoop(connections, {
  requests,
  ratePerS,
  durationMs,
  random,
});
connections.close();
if (failed + unanswered > 0) {
  process.stderr.write(`${failed} failed, ${unanswered} unanswered\n`);
  process.exit(1);
}
