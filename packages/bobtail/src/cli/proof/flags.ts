/** Options that all verbs have that prove something: rounds, and how long each is. */
import type { Subject } from '../../prove/round';
import { ROUNDS_MAX } from '../analysis';
import { Failure } from '../failure';
import { parseCount, parseDurationNs } from '../quantity';

/** Rounds of a proof by default. */
export const PROVE_ROUNDS = 12;
/** Seeds are below this. */
export const SEED_MAX = 2 ** 31;

/** Rounds, at most as many as can be compared. */
export function parseRounds(text: string, option: string): number {
  const rounds = parseCount(text, option);
  if (rounds > ROUNDS_MAX) {
    throw new Failure('usage', `${option} takes at most ${ROUNDS_MAX} rounds`, text);
  }
  return rounds;
}

/** What of a round is measured. */
export function parseSpan(
  warmup: string | undefined,
  duration: string | undefined,
): Pick<Subject, 'warmupNs' | 'durationNs'> {
  const warmupNs = warmup === undefined ? 0 : parseDurationNs(warmup, '--warmup');
  const durationNs = duration === undefined ? undefined : parseDurationNs(duration, '--duration');
  if (durationNs !== undefined && durationNs <= warmupNs) {
    throw new Failure('usage', '--duration must be longer than --warmup', duration);
  }
  return { warmupNs, ...(durationNs === undefined ? {} : { durationNs }) };
}
