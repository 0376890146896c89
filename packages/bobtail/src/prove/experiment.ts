/**
 * Arms in turns: in every round each arm runs once, in an order shuffled anew.
 *
 * Running one arm after the other would compare the machine of one quarter of an hour with that of
 * the next; within a round all arms share the same minutes. A round that was not finished counts
 * for nobody. Where a failing load may be what is at stake, it is counted and the round is not.
 */
import type { Arm } from './arm';
import { runRecordedRound } from './recorded-round';
import type { LossOf, RoundLimits, RoundResult, Runner, Subject } from './round';
import type { Sample } from './sample';
import { shuffled } from './shuffle';

/** What is known of an arm. */
export interface ArmRecord {
  readonly arm: Arm;
  /** One for each round that counts, from the first, until it left. */
  readonly samples: readonly Sample[];
  /** Numbers of the rounds in which its load failed; only where that does not take it out. */
  readonly failedRounds: readonly number[];
  /** Why its load failed last; undefined where it never did. */
  readonly failure: string | undefined;
  /** Why it left before the end; undefined while it is in. */
  readonly out: { readonly of: LossOf | 'race' | 'budget'; readonly reason: string } | undefined;
}

/** How an experiment goes. */
export interface ExperimentOptions {
  readonly subject: Subject;
  readonly arms: readonly Arm[];
  readonly rounds: number;
  readonly random: () => number;
  readonly limits: RoundLimits;
  /** How an arm is run once; with a recording by default. */
  readonly run?: Runner;
  /** An arm whose load fails stays in, and the round counts for nobody. */
  readonly keepsFailing?: boolean;
  /** Told before each run. */
  readonly progress?: (at: Progress) => void;
  /** Arms that leave after a round, with the reason; it is given all, also those that are out. */
  readonly leave?: (records: readonly ArmRecord[]) => ReadonlyMap<string, Leaving>;
  /** Whether more rounds can tell nothing more. */
  readonly enough?: (records: readonly ArmRecord[]) => boolean;
}

/** Why an arm is taken out. */
export interface Leaving {
  readonly of: 'race' | 'budget';
  readonly reason: string;
}

/** Where an experiment is. */
export interface Progress {
  readonly round: number;
  readonly rounds: number;
  readonly arm: string;
  readonly armsLeft: number;
}

/** What came of it, in the order of the arms. */
export interface Experiment {
  readonly records: readonly ArmRecord[];
  readonly interrupted: boolean;
}

interface Growing {
  readonly arm: Arm;
  readonly samples: Sample[];
  readonly failedRounds: number[];
  failure: string | undefined;
  out: ArmRecord['out'];
}

/** Runs the rounds. Rejects with a `Failure` when a command cannot be started at all. */
export async function experiment(options: ExperimentOptions): Promise<Experiment> {
  const records: Growing[] = options.arms.map((arm) => ({
    arm,
    samples: [],
    failedRounds: [],
    failure: undefined,
    out: undefined,
  }));
  const inside = (): Growing[] => records.filter((one) => one.out === undefined);
  for (let round = 1; round <= options.rounds; round += 1) {
    const measured = await runAll(options, inside(), round);
    if (measured === undefined) return { records, interrupted: true };
    for (const [record, sample] of measured) record.samples.push(sample);
    for (const [name, out] of options.leave?.(records) ?? []) {
      const record = inside().find((one) => one.arm.name === name);
      if (record !== undefined) record.out = out;
    }
    if (options.enough?.(records) === true) break;
  }
  return { records, interrupted: false };
}

/** One round; undefined when it was interrupted. */
async function runAll(
  options: ExperimentOptions,
  records: readonly Growing[],
  round: number,
): Promise<Map<Growing, Sample> | undefined> {
  const measured = new Map<Growing, Sample>();
  let hasFailed = false;
  for (const record of shuffled(records, options.random)) {
    const { rounds } = options;
    options.progress?.({ round, rounds, arm: record.arm.name, armsLeft: records.length });
    const result = await runTwice(options, record.arm);
    if (result.kind === 'interrupted') return undefined;
    if (result.kind === 'measured') {
      measured.set(record, result.sample);
    } else if (options.keepsFailing === true && isOfLoad(result)) {
      record.failedRounds.push(round);
      record.failure = result.reason;
      hasFailed = true;
    } else {
      record.out = { of: result.of, reason: result.reason };
    }
  }
  return hasFailed ? new Map() : measured;
}

/**
 * A run, and once more when its load failed or took too long: that may have been the machine,
 * and an arm is out for good. A service that died has shown what it does under the change.
 */
async function runTwice(options: ExperimentOptions, arm: Arm): Promise<RoundResult> {
  const { subject, limits, run = runRecordedRound } = options;
  const first = await run(subject, arm, limits);
  return isOfLoad(first) ? run(subject, arm, limits) : first;
}

function isOfLoad(result: RoundResult): boolean {
  return result.kind === 'lost' && (result.of === 'load' || result.of === 'time');
}
