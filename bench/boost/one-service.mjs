// One service under the policies of all arms in turns (`in-turns`), instead of one of each.
//
// Two services under one policy differ by more than two good policies do: heaps, hash seeds and
// compiled code come out otherwise each time, and in 32 rounds the same service twice was the
// slower one in 23 at p99. On one service all arms have that in common. Only arms with the same
// flags can share one.
import { setTimeout as sleep } from 'node:timers/promises';
import { environmentOf, flagsOf } from './arms.mjs';
import { BoostedService } from './service.mjs';
import { settle, warm } from './warm.mjs';

/** Time of each policy: a turn of the load and what it takes to begin and to end one. */
const EACH_MS = 2400;
/** What a turn of the load may come late into that of its policy. */
const LATE_MS_MAX = 30;
/** Rounds of all turns under load before one counts: a policy learns in its own alone. */
const ROUNDS_BEFORE = 2;

/** A service that has the policies of some arms in turns. */
export class OneService {
  /** Of arms that differ in their policies alone. Throws what `BoostedService.start` does. */
  static async start(arms, { tuned, seed, lever, ratePerS, ...context }) {
    const [flags, ...others] = [...new Set(arms.map((arm) => flagsOf(arm, tuned).join(' ')))];
    if (others.length > 0) throw new Error(`not on one service: arms with ${flags} and ${others}`);
    const environment = { ...context.environment, ...environmentOf(arms[0]) };
    const policy = `in-turns:each=${EACH_MS}ms,of=${arms.map((arm) => arm.policy).join('+')}`;
    const how = { ...context, environment, flags: flags.split(' '), seed, policy };
    const service = await BoostedService.start({ ...how, drive: lever.drive });
    try {
      await warm(service.connections);
      const beforeMs = ROUNDS_BEFORE * arms.length * EACH_MS;
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

/** By the clock of a policy's readings. */
function nowMs() {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Whose turn it is, as `crates/policy/src/in_turns.rs` has it. */
export function onDuty(turn, count) {
  return (turn + Math.floor(turn / count)) % count;
}
