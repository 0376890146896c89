/**
 * Whether a change helped: pure, from the ratios of two arms and of the unchanged one by itself.
 *
 * Judged at one percentile that a rule chooses before anything is known, the highest that both
 * comparisons support; looking at several and telling the best would find a gain in noise.
 */
import type { Ratio, RoundsDiff } from '../cli/analysis';

/** What is said of a change. */
export type ProofVerdict = 'helped' | 'did-not-help' | 'not-enough-samples';

/** The verdict, and what it rests on. */
export interface Judgement {
  readonly verdict: ProofVerdict;
  /** Where it was judged; null where no percentile is supported. */
  readonly percentile: number | null;
  /** One sentence. */
  readonly reason: string;
}

/** A change that is surely slower did not help either; `reason` says that it is. */
export function judge(effect: RoundsDiff, control: RoundsDiff): Judgement {
  const pairs = effect.percentiles.map((one, index) => ({
    percentile: one.percentile,
    change: one,
    noise: control.percentiles[index] as Ratio,
  }));
  const judged = pairs.find(({ change, noise }) => change.lack === null && noise.lack === null);
  if (judged === undefined) {
    const fewRounds = pairs.some(({ change }) => change.lack === 'rounds');
    const reason = fewRounds ? 'fewer than 8 rounds' : 'too few requests in the rounds';
    return { verdict: 'not-enough-samples', percentile: null, reason };
  }
  const { percentile, change, noise } = judged;
  return { percentile, ...compare(change, noise) };
}

function compare(change: Ratio, noise: Ratio): Pick<Judgement, 'verdict' | 'reason'> {
  const [ratio, low, high] = [change.ratio ?? 1, change.low ?? 0, change.high ?? Infinity];
  if (low > 1) return { verdict: 'did-not-help', reason: 'it is slower' };
  if (high >= 1) return { verdict: 'did-not-help', reason: 'the interval holds 1, no change' };
  // On a logarithmic scale half as long and twice as long are equally far from no change.
  if (Math.abs(Math.log(ratio)) <= Math.abs(Math.log(noise.ratio ?? 1))) {
    return { verdict: 'did-not-help', reason: 'the unchanged service differs as much from itself' };
  }
  return { verdict: 'helped', reason: 'the interval is below 1, and the change beyond the noise' };
}
