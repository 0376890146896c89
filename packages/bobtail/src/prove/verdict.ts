/**
 * Whether a change helped: pure, from the ratios of two arms and of the unchanged one by itself.
 *
 * Judged at one figure that a rule chooses before anything is known: the highest percentile that
 * both comparisons support, or CPU time; looking at several and telling the best would find a gain
 * in noise. A load that fails has no latencies, so that rounds in which one failed are judged by
 * who failed.
 */
import type { Ratio, RoundsDiff } from '../cli/analysis';

/** What is said of a change. */
export type ProofVerdict = 'helped' | 'did-not-help' | 'not-enough-samples';

/** What is to become less: the latency of the slowest, or CPU time per request. */
export type Objective = 'tail' | 'cpu';

/** The verdict, and what it rests on. */
export interface Judgement {
  readonly verdict: ProofVerdict;
  /** Where it was judged; null where no percentile is supported, or it was judged by another. */
  readonly percentile: number | null;
  /** One sentence. */
  readonly reason: string;
}

/** Place of CPU time per request among the measures of a round. */
const CPU = 0;

/** A change that is surely slower did not help either; `reason` says that it is. */
export function judge(
  effect: RoundsDiff,
  control: RoundsDiff,
  objective: Objective = 'tail',
): Judgement {
  if (objective === 'cpu') {
    const [change, noise] = [effect.measures[CPU], control.measures[CPU]];
    if (change === undefined || noise === undefined || change.lack !== null) {
      const reason = 'fewer than 8 rounds';
      return { verdict: 'not-enough-samples', percentile: null, reason };
    }
    return { percentile: null, ...compare(change, noise) };
  }
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

/** Numbers of the rounds in which the load of an arm failed. */
export interface Failed {
  readonly unchanged: readonly number[];
  readonly changed: readonly number[];
  readonly control: readonly number[];
}

/** As of an interval of 95 %: on one side. */
const FAILING_ALPHA = 0.025;

/**
 * What failing loads say, by a sign test over the rounds in which one arm failed and another did
 * not; undefined where they say nothing and latencies may.
 */
export function judgeFailures({ unchanged, changed, control }: Failed): Judgement | undefined {
  const told = `${changed.length} rounds, the unchanged service's in ${unchanged.length}`;
  const reason = `its load failed in ${told} and ${control.length}`;
  const others = [unchanged, control];
  if (others.every((other) => isMoreOften(other, changed))) {
    return { verdict: 'helped', percentile: null, reason };
  }
  // Who fails more often may have fine latencies in the rounds that are left.
  if (others.every((other) => changed.length > other.length)) {
    return { verdict: 'did-not-help', percentile: null, reason };
  }
  return undefined;
}

/** Whether `one` surely fails more often than `other`. */
function isMoreOften(one: readonly number[], other: readonly number[]): boolean {
  const more = one.filter((round) => !other.includes(round)).length;
  const less = other.filter((round) => !one.includes(round)).length;
  return tailOfBinomial(more, more + less) <= FAILING_ALPHA;
}

/** The chance of at least `heads` in `tosses` of a fair coin. */
function tailOfBinomial(heads: number, tosses: number): number {
  let [chance, sum] = [0.5 ** tosses, 0];
  for (let k = 0; k <= tosses; k += 1) {
    if (k >= heads) sum += chance;
    chance *= (tosses - k) / (k + 1);
  }
  return sum;
}
