/**
 * A race between arms: interleaved rounds that losers are taken out of, and who leads at the end.
 *
 * The unchanged service runs twice in every round and never leaves: as what all are measured
 * against, and as the A/A arm that shows what no change looks like.
 */
import { CONTROL, UNCHANGED } from '../prove/arm';
import { type ArmRecord, experiment, type Leaving, type Progress } from '../prove/experiment';
import { overBudget } from '../prove/memory';
import type { RoundLimits, Subject } from '../prove/round';
import { percentileNs, type Sample } from '../prove/sample';
import type { Objective } from '../prove/verdict';
import type { FlagArm } from './flag-arm';
import { losers, meanRatio } from './race';

/** What is raced, and under which bounds. */
export interface SearchOptions {
  readonly subject: Subject;
  readonly arms: readonly FlagArm[];
  readonly rounds: number;
  readonly budgetBytes: number;
  /** What arms are compared by in a round. */
  readonly objective: Objective;
  /** Where the tail is. */
  readonly percentile: number;
  readonly random: () => number;
  readonly limits: RoundLimits;
  readonly progress?: (at: Progress) => void;
}

/** An arm after the race; figures by the unchanged service's of the same rounds. */
export interface RacedArm {
  readonly name: string;
  readonly flags: readonly string[];
  readonly out: ArmRecord['out'];
  readonly samples: readonly Sample[];
  /** Null without a round. */
  readonly ratios: Ratios | null;
  readonly peakRssBytes: number | null;
}

/** Geometric means over rounds; below 1 is less. */
export interface Ratios {
  readonly tail: number;
  readonly cpu: number;
  readonly throughput: number;
  readonly memory: number;
}

/** What came of a race: the unchanged service first, then A/A, then the others. */
export interface Search {
  readonly arms: readonly RacedArm[];
  readonly interrupted: boolean;
}

/** Races. Rejects with a `Failure` when a command cannot be started at all. */
export async function search(options: SearchOptions): Promise<Search> {
  const tail = (sample: Sample): number => percentileNs(sample.latencies, options.percentile);
  const raced = options.objective === 'cpu' ? cpu : tail;
  const isControl = ({ arm }: ArmRecord): boolean => arm === UNCHANGED || arm === CONTROL;
  const leave = (records: readonly ArmRecord[]): Map<string, Leaving> => {
    const figures = new Map(records.map(({ arm, samples }) => [arm.name, samples.map(raced)]));
    const inside = records.filter((one) => one.out === undefined && !isControl(one));
    const isLost = new Set(losers(figures));
    const lost = inside.filter(({ arm }) => isLost.has(arm.name));
    const slower = { of: 'race', reason: 'slower than its rivals' } as const;
    const leaving = new Map<string, Leaving>(lost.map(({ arm }) => [arm.name, slower]));
    return new Map([...leaving, ...overBudget(inside, options.budgetBytes)]);
  };
  const enough = (records: readonly ArmRecord[]): boolean =>
    records.every((one) => isControl(one) || one.out !== undefined) ||
    records.some((one) => isControl(one) && one.out !== undefined);
  const arms = [UNCHANGED, CONTROL, ...options.arms];
  const { records, interrupted } = await experiment({ ...options, arms, leave, enough });
  const base = records[0]?.samples ?? [];
  const flagsOf = new Map(options.arms.map((arm) => [arm.name, arm.flags]));
  const told = records.map((record) => ({
    name: record.arm.name,
    flags: flagsOf.get(record.arm.name) ?? [],
    out: record.out,
    samples: record.samples,
    ratios: ratiosOf(record.samples, base, tail),
    peakRssBytes: peakOf(record.samples),
  }));
  return { arms: told, interrupted };
}

/** The best of those that are in and better than the unchanged service, best first. */
export function ranked(raced: readonly RacedArm[], objective: Objective): RacedArm[] {
  const cost = (one: RacedArm): number => one.ratios?.[objective] ?? Infinity;
  const better = raced.filter((one) => one.flags.length > 0 && !one.out && cost(one) < 1);
  return better.sort((a, b) => cost(a) - cost(b));
}

function cpu({ cpuNsPerRequest }: Sample): number {
  return cpuNsPerRequest;
}

function peakOf(samples: readonly Sample[]): number | null {
  return samples.length === 0 ? null : Math.max(...samples.map((one) => one.peakRssBytes));
}

function ratiosOf(
  own: readonly Sample[],
  base: readonly Sample[],
  tail: (sample: Sample) => number,
): Ratios | null {
  const ratio = (figure: (sample: Sample) => number): number | undefined =>
    meanRatio(own.map(figure), base.map(figure));
  const ratios = {
    tail: ratio(tail),
    cpu: ratio(cpu),
    throughput: ratio((one) => one.requestsPerS),
    memory: ratio((one) => one.peakRssBytes),
  };
  return Object.values(ratios).includes(undefined) ? null : (ratios as Ratios);
}
