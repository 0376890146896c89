// What is asked of the services, and how they are warmed up before it counts: live and recorded the
// same, for a service whose first collection of the whole heap is still to come has another tail.
import { seededRandom } from '../../packages/bobtail/dist/prove/shuffle.js';
import { closedLoop, openLoop, requestBytes } from '../harness/open-loop.mjs';

const PATHS = 5000;
/** A fresh server is at twice its later cost for the first two seconds. */
export const WARM_MS = 2500;
/** After it V8 collects what it put off while the loop was never idle. */
export const SETTLE_MS = 3000;
/** Of a closed loop: enough that the service is never idle. */
const CONCURRENCY = 24;
/** From the first request to the first that counts. */
export const WARM_UP_MS = WARM_MS + SETTLE_MS;

/** Everything that is asked, in turn. */
export const requests = Array.from({ length: PATHS }, (_, n) =>
  requestBytes(`/${(n * 37) % 1000}`),
);

/** As much as the service can answer, for a while: how many requests it was. */
export function warm(connections) {
  return closedLoop(connections, { requests, concurrency: CONCURRENCY, durationMs: WARM_MS });
}

/** The load as it will be. */
export function settle(connections, ratePerS, seed, durationMs = SETTLE_MS) {
  const random = seededRandom(seed + 1);
  return openLoop(connections, { requests, ratePerS, durationMs, random });
}
