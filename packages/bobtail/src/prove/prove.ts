/**
 * The proof of a change: the unchanged service, the change, and the unchanged service again, in
 * turns, on rounds that no choice was made from.
 *
 * `tune` ends with it; whatever else changes a service (a boost, say) is proved by another arm.
 */
import { analyzeRounds, type Ratio, type Round, type RoundsDiff } from '../cli/analysis';
import { type Arm, CONTROL, UNCHANGED } from './arm';
import { type ArmRecord, type ExperimentOptions, experiment, type Leaving } from './experiment';
import { overBudget } from './memory';
import type { Sample } from './sample';
import { type Judgement, judge, judgeFailures, type Objective } from './verdict';

/** Fewer rounds give no interval. */
export const PROOF_ROUNDS_MIN = 8;
/** A load that fails with every arm in so many rounds, twice in each, fails by itself. */
const ROUNDS_TO_FAIL = 2;

/** One figure of two arms, by name. */
export interface Comparison {
  readonly percentiles: RoundsDiff['percentiles'];
  readonly cpuNsPerRequest: Ratio;
  readonly requestsPerS: Ratio;
  readonly peakRssBytes: Ratio;
}

/** What was proved. */
export interface Proof extends Judgement {
  readonly change: string;
  readonly rounds: number;
  readonly interrupted: boolean;
  /** The change against the unchanged service, and that against itself; null without a round. */
  readonly effect: Comparison | null;
  readonly control: Comparison | null;
  readonly records: readonly ArmRecord[];
  /** No arm carried the load in any round: then it is no matter of the change. */
  readonly isLoadAtFault: boolean;
}

/** How it is proved. */
export interface ProveOptions
  extends Omit<ExperimentOptions, 'arms' | 'leave' | 'enough' | 'keepsFailing'> {
  /** Memory that the change may use; without it there is no bound. */
  readonly budgetBytes?: number;
  /** By default the tail. */
  readonly objective?: Objective;
  /** What the change is compared with, and that again; the service as it is by default. */
  readonly unchanged?: readonly [unchanged: Arm, again: Arm];
}

/** Runs the proof of `change`. Rejects with a `Failure` when a command cannot be started. */
export async function prove(change: Arm, options: ProveOptions): Promise<Proof> {
  const [base, control] = options.unchanged ?? [UNCHANGED, CONTROL];
  const arms = [base, change, control];
  // When one is out there is nothing left to compare, and a load that nobody carries is wrong.
  const enough = (records: readonly ArmRecord[]): boolean =>
    records.some((one) => one.out !== undefined) || hasOnlyFailed(records, ROUNDS_TO_FAIL);
  const leave = (records: readonly ArmRecord[]): ReadonlyMap<string, Leaving> => {
    const over = records.find((one) => one.arm === change && one.out === undefined);
    return over === undefined ? new Map() : overBudget([over], options.budgetBytes ?? Infinity);
  };
  const how = { ...options, arms, leave, enough, keepsFailing: true };
  const { records, interrupted } = await experiment(how);
  const rounds = Math.min(...records.map((one) => one.samples.length));
  const isLoadAtFault = !interrupted && hasOnlyFailed(records);
  const common = { change: change.name, rounds, interrupted, records, isLoadAtFault };
  const none = { percentile: null, effect: null, control: null };
  const out = records.find((one) => one.out !== undefined);
  if (out?.out !== undefined) {
    // Of a change that was not there nothing is known.
    const isKnown = out.arm === change && out.out.of !== 'change';
    const verdict = isKnown ? 'did-not-help' : 'not-enough-samples';
    return { ...common, ...none, verdict, reason: `${out.arm.name}: ${out.out.reason}` };
  }
  const failures = judgeFailed(records);
  const compared = rounds === 0 ? undefined : await compareAll(records);
  if (compared === undefined) {
    const reason = isLoadAtFault
      ? `every load failed: ${records[0]?.failure}`
      : records.some((one) => one.failedRounds.length > 0)
        ? 'in every round a load failed'
        : 'no round was finished';
    const verdict = 'not-enough-samples' as const;
    return { ...common, ...none, verdict, reason, ...(interrupted ? {} : failures) };
  }
  const judged = judge(compared.effect.diff, compared.control.diff, options.objective);
  if (interrupted) {
    // Whoever ends it when he likes what he sees makes of 95 % what he likes.
    const reason = 'it was interrupted';
    return { ...common, ...compared, ...judged, verdict: 'not-enough-samples', reason };
  }
  return { ...common, ...compared, ...(failures ?? judged) };
}

/** Whether the load of each arm failed in each round, and in so many. */
function hasOnlyFailed(records: readonly ArmRecord[], rounds = 1): boolean {
  return records.every((one) => one.samples.length === 0 && one.failedRounds.length >= rounds);
}

function judgeFailed(records: readonly ArmRecord[]): Judgement | undefined {
  const [unchanged = [], changed = [], control = []] = records.map((one) => one.failedRounds);
  return judgeFailures({ unchanged, changed, control });
}

/** The change against the unchanged service, and that against itself. */
async function compareAll(records: readonly ArmRecord[]) {
  const rounds = Math.min(...records.map((one) => one.samples.length));
  const [unchanged = [], changed = [], again = []] = records.map((one) =>
    one.samples.slice(0, rounds),
  );
  return {
    effect: await compareArms(unchanged, changed),
    control: await compareArms(unchanged, again),
  };
}

/** How arm `b` differs from `a`; sample `i` of one was taken beside sample `i` of the other. */
export async function compareArms(
  a: readonly Sample[],
  b: readonly Sample[],
): Promise<Comparison & { readonly diff: RoundsDiff }> {
  const diff = await analyzeRounds(a.map(toRound), b.map(toRound));
  const [cpuNsPerRequest, requestsPerS, peakRssBytes] = diff.measures as [Ratio, Ratio, Ratio];
  return { diff, percentiles: diff.percentiles, cpuNsPerRequest, requestsPerS, peakRssBytes };
}

function toRound({ latencies, cpuNsPerRequest, requestsPerS, peakRssBytes }: Sample): Round {
  return { latencies, measures: [cpuNsPerRequest, requestsPerS, peakRssBytes] };
}
