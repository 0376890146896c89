// One service under the policies of all arms in turns (`in-turns`), instead of one of each.
//
// The same service twice, under one policy, had tails further apart than two good policies have:
// as the load saw it by 5 % in the mean, at the service by 12 to 14, and it was the same one in 23
// of 32 rounds (boost-15), for a reason not known. On one service that is common to all arms. Only
// those with the same flags can share one. One that is recorded is a service of its own, which has
// a turn among them.
import { setTimeout as sleep } from 'node:timers/promises';
import { nowMs, onDuty } from '../harness/turns.mjs';
import { environmentOf, flagsOf } from './arms.mjs';
import { BoostedService } from './service.mjs';
import { settle, warm } from './warm.mjs';

/** Time of each policy: a turn of the load and what it takes to begin and to end one. */
export const EACH_MS = 2400;
/** What a turn of the load may come late into that of its policy. */
export const LATE_MS_MAX = 30;
/**
 * Rounds of all turns under load before one counts: a policy learns in its own alone. After two, as
 * after four, `deadline` still boosted more in the first part of what counted than later
 * (boost-16 and -17).
 */
const ROUNDS_BEFORE = 4;
/** So long each has load before one counts. */
export const LEARNT_MS = ROUNDS_BEFORE * EACH_MS;

/** A service that has the policies of some arms in turns. */
export class OneService {
  /**
   * Of arms that differ in their policies alone; in the turn of one that is recorded it is at the
   * base. Throws what `BoostedService.start` does.
   */
  static async start(arms, { tuned, seed, lever, ratePerS, ...context }) {
    const kinds = arms.map((arm) => JSON.stringify([flagsOf(arm, tuned), environmentOf(arm)]));
    if (new Set(kinds).size > 1) {
      const names = arms.map(({ name }) => name);
      throw new Error(`not on one service: ${names} differ in more than their policies`);
    }
    const flags = flagsOf(arms[0], tuned);
    const environment = { ...context.environment, ...environmentOf(arms[0]) };
    const policy = `in-turns:each=${EACH_MS}ms,of=${arms.map((arm) => arm.policy).join('+')}`;
    const how = { ...context, environment, flags, seed, policy };
    const service = await BoostedService.start({ ...how, drive: lever.drive });
    try {
      await warm(service.connections);
      const beforeMs = arms.length * LEARNT_MS;
      await settle(service.connections, ratePerS, seed, beforeMs);
    } catch (error) {
      await service.stop();
      throw error;
    }
    return Object.assign(new OneService(), { service, count: arms.length });
  }

  /** Of the places of some arms the one whose turn begins next. */
  next(places) {
    return places.toSorted((one, other) => this.#beginsMs(one) - this.#beginsMs(other))[0];
  }

  /** Waits until the turn of the arm at `place` begins. */
  async untilTurnOf(place) {
    for (;;) {
      const beginsMs = this.#beginsMs(place);
      const waitMs = beginsMs - nowMs();
      if (waitMs <= 0) return;
      await sleep(waitMs);
      // Woken late it would reach into the next one's.
      if (nowMs() < beginsMs + LATE_MS_MAX) return;
    }
  }

  /** When the next turn of a place begins, of which no more is gone than may be. */
  #beginsMs(place) {
    let turn = Math.floor((nowMs() - LATE_MS_MAX) / EACH_MS) + 1;
    while (onDuty(turn, this.count) !== place) turn += 1;
    return turn * EACH_MS;
  }
}
