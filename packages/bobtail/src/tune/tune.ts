/**
 * The whole of tuning: calibrate, race single flags, race what is near the best, prove the choice.
 *
 * The proof runs on rounds of its own: the best of many arms looks better in the rounds that it was
 * chosen from than it is. It prints nothing.
 */
import { availableParallelism } from 'node:os';
import { Failure } from '../cli/failure';
import type { Progress } from '../prove/experiment';
import { type Proof, prove } from '../prove/prove';
import type { RoundLimits, Subject } from '../prove/round';
import { seededRandom } from '../prove/shuffle';
import type { Objective } from '../prove/verdict';
import type { Budget } from './budget';
import { type Calibration, calibrate, unchangedLost } from './calibration';
import { combinedChanges, type Surroundings, singleChanges } from './candidates';
import { type FlagArm, flagArm, isNode } from './flag-arm';
import { checkFlags, checkValues, flagName, type NodeFlags, readNodeFlags } from './node-flags';
import { type RacedArm, ranked, search } from './search';

/** What is tuned, and how long. */
export interface TuneOptions {
  readonly subject: Subject;
  readonly budget: Budget;
  /** What is to become less. */
  readonly objective: Objective;
  /** At most so many rounds of each race. */
  readonly rounds: number;
  readonly proofRounds: number;
  readonly seed: number;
  /** Instead of the flags that are tried by default. */
  readonly tries: readonly (readonly string[])[];
  readonly signal: AbortSignal;
  readonly progress: (step: TuneStep) => void;
}

/** What is being done. */
export type TuneStep =
  | { readonly kind: 'calibrating' }
  | { readonly kind: 'calibrated'; readonly calibration: Calibration; readonly arms: number }
  | { readonly kind: 'running'; readonly stage: Stage['name'] | 'proof'; readonly at: Progress }
  | { readonly kind: 'left'; readonly arm: RacedArm };

/** One race. */
export interface Stage {
  readonly name: 'single' | 'combined';
  readonly arms: readonly RacedArm[];
}

/** What is known at the end, or when it was interrupted. */
export interface Tuned {
  readonly interrupted: boolean;
  readonly calibration: Calibration | undefined;
  readonly stages: readonly Stage[];
  /** What won the races; undefined when nothing was better than the unchanged service. */
  readonly choice: FlagArm | undefined;
  /** Whether its Node takes all its flags in `NODE_OPTIONS`. */
  readonly inNodeOptions: boolean;
  /** Undefined without a choice. */
  readonly proof: Proof | undefined;
}

const LISTEN_MS_MAX = 60_000;
const CALIBRATION_MS_MAX = 24 * 3600 * 1000;
const RUN_MS_LEAST = 30_000;
/** A run that takes so many times as long as the first is stuck. */
const RUN_TIMES_MAX = 5;

/** Tunes. Rejects with a `Failure` where the unchanged service cannot be measured. */
export async function tune(options: TuneOptions): Promise<Tuned> {
  const { subject, budget, signal } = options;
  options.progress({ kind: 'calibrating' });
  const limits = { listenMs: LISTEN_MS_MAX, runMs: CALIBRATION_MS_MAX, signal };
  const calibration = await calibrate(subject, budget, limits);
  const nothing = { calibration, stages: [], choice: undefined, proof: undefined };
  if (calibration === undefined) return { ...nothing, inNodeOptions: false, interrupted: true };
  return new Tuning(options, calibration).run();
}

/** What follows the calibration. */
class Tuning {
  readonly #options: TuneOptions;
  readonly #calibration: Calibration;
  readonly #limits: RoundLimits;
  readonly #random: () => number;
  readonly #stages: Stage[] = [];
  #allowed: NodeFlags['inNodeOptions'] = new Set();

  constructor(options: TuneOptions, calibration: Calibration) {
    this.#options = options;
    this.#calibration = calibration;
    const runMs = Math.max(RUN_MS_LEAST, RUN_TIMES_MAX * calibration.runMs);
    this.#limits = { listenMs: LISTEN_MS_MAX, runMs, signal: options.signal };
    this.#random = seededRandom(options.seed);
  }

  async run(): Promise<Tuned> {
    const here = await this.#surroundings();
    this.#allowed = here.flags.inNodeOptions;
    const arms = await this.#firstArms(here);
    this.#options.progress({
      kind: 'calibrated',
      calibration: this.#calibration,
      arms: arms.length,
    });
    const single = await this.#race('single', arms);
    if (single === undefined) return this.#ended(undefined, undefined, true);
    const { objective } = this.#options;
    const found = ranked(single, objective).map((one) => ({
      arm: flagArm(one.flags),
      ratio: one.ratios?.[objective] ?? Infinity,
    }));
    let choice: FlagArm | undefined = found[0]?.arm;
    const around = this.#options.tries.length > 0 ? [] : combinedChanges(found, here);
    // The first is the best of the race before: alone it would only win again.
    if (around.length > 1) {
      const combined = await this.#race('combined', around);
      if (combined === undefined) return this.#ended(choice, undefined, true);
      const [best] = ranked(combined, objective);
      choice = best === undefined ? undefined : flagArm(best.flags);
    }
    if (choice === undefined) return this.#ended(undefined, undefined, false);
    const proof = await prove(choice, {
      subject: this.#options.subject,
      objective,
      rounds: this.#options.proofRounds,
      random: this.#random,
      limits: this.#limits,
      budgetBytes: this.#options.budget.bytes,
      progress: (at) => this.#options.progress({ kind: 'running', stage: 'proof', at }),
    });
    return this.#ended(choice, proof, proof.interrupted);
  }

  async #surroundings(): Promise<Surroundings> {
    const { subject, budget } = this.#options;
    return {
      budgetBytes: budget.bytes,
      usedBytes: this.#calibration.sample.peakRssBytes,
      flags: await readNodeFlags(this.#calibration.node),
      direct: isNode(subject.command),
      cpus: availableParallelism(),
    };
  }

  async #firstArms(here: Surroundings): Promise<FlagArm[]> {
    const { tries } = this.#options;
    const { version, node } = this.#calibration;
    for (const flags of tries) {
      checkFlags(flags, here.flags, { version, direct: here.direct });
      await checkValues(node, flags);
    }
    const arms = tries.length > 0 ? tries.map(flagArm) : singleChanges(here);
    const names = new Set(arms.map((one) => one.name));
    if (names.size < arms.length) throw new Failure('usage', '--try: the same flags twice');
    return arms;
  }

  /** Undefined when it was interrupted; what is known by then is kept. */
  async #race(name: Stage['name'], arms: readonly FlagArm[]): Promise<RacedArm[] | undefined> {
    const { subject, rounds, budget, objective, progress } = this.#options;
    const raced = await search({
      subject,
      arms,
      objective,
      rounds,
      budgetBytes: budget.bytes,
      percentile: this.#calibration.percentile,
      random: this.#random,
      limits: this.#limits,
      progress: (at) => progress({ kind: 'running', stage: name, at }),
    });
    this.#stages.push({ name, arms: raced.arms });
    if (raced.interrupted) return undefined;
    // Neither of the two is ever taken out by the race or the budget: something went wrong with it.
    for (const { out } of raced.arms.slice(0, 2)) {
      if (out !== undefined && out.of !== 'race' && out.of !== 'budget') {
        throw unchangedLost(out.of, out.reason, subject);
      }
    }
    for (const arm of raced.arms) if (arm.out !== undefined) progress({ kind: 'left', arm });
    return [...raced.arms];
  }

  #ended(choice: FlagArm | undefined, proof: Proof | undefined, interrupted: boolean): Tuned {
    const flags = choice?.flags ?? [];
    const inNodeOptions = flags.every((flag) => this.#allowed.has(flagName(flag)));
    const known = { calibration: this.#calibration, stages: this.#stages };
    return { ...known, interrupted, choice, proof, inNodeOptions };
  }
}
