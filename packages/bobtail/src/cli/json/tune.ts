/** The answer of `tune` (`spec/tune.schema.json`); ratios are "by the unchanged service". */
import type { Comparison } from '../../prove/prove';
import type { Objective, ProofVerdict } from '../../prove/verdict';
import type { Budget } from '../../tune/budget';
import type { Ratios } from '../../tune/search';

/** One run of one arm. */
export interface TunedRound {
  readonly requests: number;
  /** Those that its requests support. */
  readonly percentilesNs: Readonly<Record<string, number>>;
  readonly cpuNsPerRequest: number;
  readonly requestsPerS: number;
  readonly peakRssBytes: number;
  readonly gc: readonly { kind: string; pauses: number; totalNs: number }[];
}

/** One arm of a race or of the proof. */
export interface TunedArm {
  readonly name: string;
  readonly flags: readonly string[];
  /** Why it left before the end. */
  readonly out: { readonly of: string; readonly reason: string } | null;
  readonly rounds: readonly TunedRound[];
}

/** An arm that no other beats in tail, throughput, memory and energy together. */
export interface ParetoArm extends Ratios {
  readonly name: string;
  readonly flags: readonly string[];
  /** As CPU time per request: a model, not a measurement. */
  readonly energy: number;
  readonly peakRssBytes: number;
  readonly rounds: number;
}

/** The whole answer. */
export interface TuneAnswer {
  readonly schema: 'bobtail-tune/1';
  readonly command: readonly string[];
  readonly onPort: string;
  readonly interrupted: boolean;
  /** Null when it was interrupted before the unchanged service was measured. */
  readonly unchanged: {
    readonly node: string;
    readonly execPath: string;
    readonly requests: number;
    readonly peakRssBytes: number;
    /** Where arms were raced: what one round supports. */
    readonly percentile: number;
  } | null;
  readonly memory: Budget;
  readonly energy: {
    readonly source: 'modelled';
    readonly model: string;
  };
  /** What was to become less: where arms were raced and the choice was proved. */
  readonly objective: Objective;
  readonly seed: number;
  readonly races: readonly {
    readonly name: 'single' | 'combined';
    readonly arms: readonly (TunedArm & { readonly ratios: Ratios | null })[];
  }[];
  readonly pareto: readonly ParetoArm[];
  readonly proof: {
    readonly flags: readonly string[];
    readonly objective: Objective;
    readonly verdict: ProofVerdict;
    readonly reason: string;
    readonly percentile: number | null;
    readonly rounds: number;
    readonly effect: Comparison | null;
    /** The unchanged service against itself. */
    readonly control: Comparison | null;
    /** Rounds in which a load failed are counted, and count for nobody. */
    readonly arms: readonly (TunedArm & { readonly failedRounds: number })[];
  } | null;
  /** What to use; null unless it was proved to help. */
  readonly recommendation: {
    readonly flags: readonly string[];
    /** Null when some flag may not stand there. */
    readonly nodeOptions: string | null;
    /** Null when the command is not node itself. */
    readonly command: readonly string[] | null;
  } | null;
}
