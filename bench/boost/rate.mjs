// The load of a round: as many requests a second as keep the loop half busy at the base speed.
//
// Anew for each round, on a server of its own: the core of a shared host is another from one minute
// to the next, and how busy the loop is decides more of a tail than any policy does.
import { openLoop } from '../harness/open-loop.mjs';
import { quartiles } from '../harness/statistics.mjs';
import { BASE_FLAGS, BASE_POLICY, BASE_SPEED } from './arms.mjs';
import { BoostedService } from './service.mjs';
import { SharedLever } from './shared-lever.mjs';
import { requests, WARM_MS, warm } from './warm.mjs';

/** Of what the service answers at base when it is never idle: the paper's are half busy. */
const UTILISATION = 0.475;
/** As long as a turn, so that both have as many collections of the whole heap. */
const LOOK_MS = 2000;
/** Looks of the trials, each at the rate that the one before came to. */
const TRIAL_LOOKS = [2, 6];

/**
 * Requests per second at which loops are busy for `UTILISATION` of the time that the base speed
 * lets them run, in the looks at which the core is fast: those are the turns that count.
 */
export async function calibratedRate({ latency, ...context }) {
  const lever = await SharedLever.start(latency);
  try {
    const how = { policy: BASE_POLICY, flags: BASE_FLAGS, seed: 1, drive: lever.drive };
    const service = await BoostedService.start({ ...context, ...how });
    try {
      const rate = await rateOf(service);
      await service.driven();
      return rate;
    } finally {
      await service.stop();
    }
  } finally {
    await lever.stop();
  }
}

/**
 * Open load costs more per request than a closed loop, which finds the loop always awake, so that
 * is only where it begins.
 */
async function rateOf(service) {
  const { connections } = service;
  let ratePerS = (UTILISATION * (await warm(connections))) / (WARM_MS / 1000);
  for (const looks of TRIAL_LOOKS) {
    const perRequestNs = [];
    for (let look = 0; look < looks; look += 1) {
      const beforeNs = service.loopNs();
      const answered = await openLoop(connections, { requests, ratePerS, durationMs: LOOK_MS });
      perRequestNs.push((service.loopNs() - beforeNs) / answered.latenciesMs.length);
    }
    ratePerS = (UTILISATION * BASE_SPEED * 1e9) / quartiles(perRequestNs).low;
  }
  return Math.round(ratePerS);
}
