/**
 * Which arms of a race have lost: pure, from their figure in each round.
 *
 * A sequential test by betting. Against one rival an arm starts with 1 and bets, round by round, a
 * part of what it has on "I am the slower one" at even odds; if it is not, it cannot be expected to
 * win, and the chance that it ever has 1/α is at most α however often one looks (Ville's
 * inequality; Waudby-Smith and Ramdas, *Estimating means of bounded random variables by betting*,
 * JRSS B 2024). The mean over all rivals is such a bet too, so many rivals need no correction. Only
 * who was slower counts, not by how much: tails have outliers that would decide a test of means.
 */

/** Parts that are bet, half of the money each: bold for clear losers, careful for the others. */
const PARTS = [0.5, 0.9] as const;
/** The chance to take out an arm as good as all others: that costs a gain, no wrong claim. */
export const RACE_ALPHA = 0.1;

/** Figures by round, from the first round until the arm left; lower is better. */
export type Figures = ReadonlyMap<string, readonly number[]>;

/** Arms that are slower than their rivals, as far as that is sure by now. */
export function losers(figures: Figures, alpha = RACE_ALPHA): string[] {
  return [...figures.keys()].filter((name) => evidence(figures, name) >= 1 / alpha);
}

/** What an arm's bets that it is slower have become; 1 without a round. */
export function evidence(figures: Figures, name: string): number {
  const own = figures.get(name) ?? [];
  const rivals = [...figures].filter(([rival]) => rival !== name);
  if (rivals.length === 0) return 1;
  const each = rivals.map(([, theirs]) => wealth(own, theirs));
  return each.reduce((sum, one) => sum + one, 0) / rivals.length;
}

/** Over the rounds in which both were in. */
function wealth(own: readonly number[], theirs: readonly number[]): number {
  const rounds = Math.min(own.length, theirs.length);
  const bets = PARTS.map((part) => {
    let money = 1;
    for (let round = 0; round < rounds; round += 1) {
      money *= 1 + part * Math.sign(own[round]! - theirs[round]!);
    }
    return money;
  });
  return bets.reduce((sum, one) => sum + one, 0) / bets.length;
}

/** How many times as long as `base` an arm takes: the geometric mean over the rounds of both. */
export function meanRatio(own: readonly number[], base: readonly number[]): number | undefined {
  const rounds = Math.min(own.length, base.length);
  if (rounds === 0) return undefined;
  let sum = 0;
  for (let round = 0; round < rounds; round += 1) sum += Math.log(own[round]! / base[round]!);
  return Math.exp(sum / rounds);
}
