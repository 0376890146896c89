/**
 * The proof of a change: the unchanged service, the change, and the unchanged service again, in
 * turns, on rounds that no choice was made from.
 *
 * `tune` ends with it; whatever else changes a service (a boost, say) is proved by another arm.
 */
import { analyzeRounds, type Ratio, type Round, type RoundsDiff } from '../cli/analysis';
import { type Arm, CONTROL, UNCHANGED } from './arm';
import { type ArmRecord, type ExperimentOptions, experiment } from './experiment';
import type { Sample } from './sample';
import { type Judgement, judge } from './verdict';

/** Fewer rounds give no interval. */
export const PROOF_ROUNDS_MIN = 8;

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
}

/** Runs the proof of `change`. Rejects with a `Failure` when a command cannot be started. */
export async function prove(
  change: Arm,
  options: Omit<ExperimentOptions, 'arms' | 'leave' | 'enough'>,
): Promise<Proof> {
  const arms = [UNCHANGED, change, CONTROL];
  // When one is out there is nothing left to compare.
  const enough = (records: readonly ArmRecord[]): boolean =>
    records.some((one) => one.out !== undefined);
  const { records, interrupted } = await experiment({ ...options, arms, enough });
  const rounds = Math.min(...records.map((one) => one.samples.length));
  const common = { change: change.name, rounds, interrupted, records };
  const out = records.find((one) => one.out !== undefined);
  if (rounds === 0 || out !== undefined) {
    const reason =
      out?.out === undefined ? 'no round was finished' : `${out.arm.name}: ${out.out.reason}`;
    const verdict = out?.arm === change ? 'did-not-help' : 'not-enough-samples';
    return { ...common, verdict, percentile: null, reason, effect: null, control: null };
  }
  const [unchanged = [], changed = [], again = []] = records.map((one) => one.samples);
  const [effect, control] = [
    await compareArms(unchanged.slice(0, rounds), changed.slice(0, rounds)),
    await compareArms(unchanged.slice(0, rounds), again.slice(0, rounds)),
  ];
  return { ...common, ...judge(effect.diff, control.diff), effect, control };
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
