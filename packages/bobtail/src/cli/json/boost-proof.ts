/** The answer of `boost --prove` (`spec/boost-proof.schema.json`). */
import type { Comparison } from '../../prove/prove';
import type { Boosted } from '../../prove/sample';
import type { ProofVerdict } from '../../prove/verdict';

/** One run of one arm. */
export interface BoostedRound extends Boosted {
  readonly requests: number;
  /** Those that its requests support. */
  readonly percentilesNs: Readonly<Record<string, number>>;
  readonly requestsPerS: number;
}

/** What is told of two arms; not CPU time, which an imitated frequency uses up itself. */
export type BoostComparison = Pick<Comparison, 'percentiles' | 'requestsPerS'>;

/** The whole answer. */
export interface BoostProof {
  readonly schema: 'bobtail-boost-proof/1';
  readonly command: readonly string[];
  readonly onPort: string;
  /** With all its settings. */
  readonly policy: string;
  readonly actuator: string;
  /** No figure of an imitated frequency is one of a real lever. */
  readonly isEmulated: boolean;
  readonly seed: number;
  readonly interrupted: boolean;
  readonly verdict: ProofVerdict;
  readonly reason: string;
  readonly percentile: number | null;
  readonly rounds: number;
  readonly effect: BoostComparison | null;
  /** The service as it is against itself; at an imitated frequency, at base speed. */
  readonly control: BoostComparison | null;
  /** By the model, mean over the rounds, relative to base speed; null where it has no points. */
  readonly energyRelative: number | null;
  readonly arms: readonly {
    readonly name: string;
    /** `none` where no lever is driven. */
    readonly policy: string;
    readonly out: { readonly of: string; readonly reason: string } | null;
    readonly failedRounds: number;
    readonly rounds: readonly BoostedRound[];
  }[];
}
