// The load of one round of `bobtail tune`: open-loop Poisson arrivals at a fixed rate.
//
//   node bench/tune/load.mjs gc-churn|catalogue RATE SECONDS     (with PORT in the environment)
import { Connections, openLoop, requestBytes } from '../harness/open-loop.mjs';

const [service = '', rate = '200', seconds = '4'] = process.argv.slice(2);
const CONNECTIONS = 32;
const PRODUCTS = 60_000;
/** A fixed walk over the products, so that every round asks for the same. */
const STEP = 7_919;
const MIX = {
  'gc-churn': () => '/churn',
  catalogue: (n) => `/${n % 4 === 0 ? 'search' : 'products'}/${(n * STEP) % PRODUCTS}`,
};

const path = MIX[service];
if (path === undefined || process.env.PORT === undefined) {
  process.stderr.write('usage: PORT=N node bench/tune/load.mjs gc-churn|catalogue RATE SECONDS\n');
  process.exit(64);
}
const ratePerS = Number(rate);
const durationMs = Number(seconds) * 1000;
const count = Math.ceil(ratePerS * Number(seconds));
const requests = Array.from({ length: count }, (_, n) => requestBytes(path(n)));
const connections = await Connections.open(Number(process.env.PORT), CONNECTIONS);
const { failed, unanswered } = await openLoop(connections, { requests, ratePerS, durationMs });
connections.close();
if (failed + unanswered > 0) {
  process.stderr.write(`${failed} failed, ${unanswered} unanswered\n`);
  process.exit(1);
}
