// The load of a round: as many requests a second as keep the servers' core busy at the base speed
// for the part of the time that is wanted, usually half.
//
// Anew for each round, on a server of its own: the core of a shared host is another from one minute
// to the next, and how busy it is decides more of a tail than any policy does. The core and not the
// loop: of `disk` the pool's threads have a quarter of what it takes there; reckoned without them
// 65 % was 80 to 98 (boost-19), where a tail is how far the service has fallen behind.
import { openLoop } from '../harness/open-loop.mjs';
import { quartiles } from '../harness/statistics.mjs';
import { BASE_FLAGS, BASE_POLICY, BASE_SPEED } from './arms.mjs';
import { BoostedService } from './service.mjs';
import { SharedLever } from './shared-lever.mjs';
import { requests, WARM_MS, warm } from './warm.mjs';

/** Of what the service answers at base when it is never idle: the paper's are half busy. */
export const UTILISATION = 0.475;
/** As long as a turn, so that both have as many collections of the whole heap. */
const LOOK_MS = 2000;
/** Looks of the trials, each at the rate that the one before came to. */
const TRIAL_LOOKS = [2, 6];
/** So many times as many, until as many had fast cores. */
const LOOKS_MAX = 2;
/** Tenths of a second in which a core may be slow in one that counts as fast. */
const SLOW_MAX = 2;

/**
 * Requests per second at which a service is busy for `utilisation` of the time that the base speed
 * lets it run, in the looks at which the core is fast: those are the turns that count.
 */
export async function calibratedRate({ latency, utilisation, ...context }) {
  const lever = await SharedLever.start(latency);
  try {
    const how = { policy: BASE_POLICY, flags: BASE_FLAGS, seed: 1, drive: lever.drive };
    const service = await BoostedService.start({ ...context, ...how });
    try {
      const rate = await rateOf(service, { utilisation, pace: context.stalls.pace });
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
async function rateOf(service, { utilisation, pace }) {
  const { connections } = service;
  let ratePerS = (utilisation * (await warm(connections))) / (WARM_MS / 1000);
  for (const wanted of TRIAL_LOOKS) {
    const [fast, slow] = [[], []];
    while (fast.length < wanted && fast.length + slow.length < LOOKS_MAX * wanted) {
      await pace.untilCalm();
      const { isCalm, perRequestNs } = await lookAt(service, { ratePerS, pace });
      (isCalm ? fast : slow).push(perRequestNs);
    }
    // Where the cores are never fast for as long, the best there is.
    const { median } = quartiles(fast.length > 0 ? fast : slow);
    ratePerS = (utilisation * BASE_SPEED * 1e9) / median;
  }
  return Math.round(ratePerS);
}

/** What a request took of the core, and whether the cores were fast all the time. */
async function lookAt(service, { ratePerS, pace }) {
  const fromMs = performance.now();
  const beforeNs = service.coreNs();
  const load = { requests, ratePerS, durationMs: LOOK_MS };
  const { latenciesMs } = await openLoop(service.connections, load);
  const perRequestNs = (service.coreNs() - beforeNs) / latenciesMs.length;
  const isCalm = pace.slowWindows(fromMs, performance.now()).length <= SLOW_MAX;
  return { perRequestNs, isCalm };
}
