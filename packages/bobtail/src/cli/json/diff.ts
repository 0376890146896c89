/**
 * The answer of `diff` (`spec/diff.schema.json`), as the analysis gives it.
 *
 * Times are whole nanoseconds per request; null is "cannot be told".
 */
import type { GateOutcome } from '../../gates/outcome';
import type { Culprit, Report } from './report';

/** Whether a figure moved: `more` and `less` are told only beyond interval and noise. */
export type Verdict = 'more' | 'less' | 'within-noise' | 'too-few';

/** A figure in both recordings. */
export interface Change {
  readonly aNs: number | null;
  readonly bNs: number | null;
  /** B less A. */
  readonly deltaNs: number | null;
  /** 95 % confidence interval of the difference. */
  readonly lowNs: number | null;
  readonly highNs: number | null;
  /** The A/A noise floor: the largest difference between two halves of one of the recordings. */
  readonly noiseNs: number | null;
  readonly verdict: Verdict;
}

/** A cause of latency: mean per request beyond the percentile. */
export interface CauseChange extends Change {
  readonly cause: string;
}

/** A percentile, and the requests beyond it. */
export interface PercentileDiff {
  readonly percentile: number;
  readonly latency: Change;
  /** Mean latency of the requests beyond; the changes of its causes sum up to its own. */
  readonly beyond: Change;
  readonly causes: readonly CauseChange[];
  /** Why nothing can be told. */
  readonly note: string | null;
}

/** The requests of a route. */
export interface RouteDiff {
  /** `*` stands for all routes. */
  readonly route: string;
  readonly aCount: number;
  readonly bCount: number;
  readonly mean: Change;
  /** Highest first. */
  readonly percentiles: readonly PercentileDiff[];
}

/** Time that a culprit inflicted: mean per request of the tail. */
export interface CulpritChange extends Change {
  readonly kind: Culprit['kind'];
  readonly route: string | null;
  readonly type: string;
  /** Without its line, which edits elsewhere in the file move. */
  readonly location: string | null;
}

/** Waiting for a resource: mean per request of the tail. */
export interface IoChange extends Change {
  readonly resource: string;
  readonly kind: string;
}

/** One of the recordings. */
export interface DiffSide {
  readonly run: Report['run'];
  readonly requests: number;
  /** Blocks of time with requests, on which the intervals rest. */
  readonly blocks: number;
  readonly losses: Readonly<Record<string, number>>;
}

/** The whole answer. */
export interface Diff {
  readonly schema: 'bobtail-diff/1';
  readonly replicates: number;
  readonly a: DiffSide;
  readonly b: DiffSide;
  /** All routes together, then each, by time. */
  readonly routes: readonly RouteDiff[];
  /** Each recording's own tail. */
  readonly tail: {
    readonly percentile: number;
    readonly aCount: number;
    readonly bCount: number;
    /** The largest change first. */
    readonly culprits: readonly CulpritChange[];
    readonly io: readonly IoChange[];
  };
  /** As of the report: a bundle that was built anew between A and B is told here. */
  readonly notes: readonly string[];
  /** What came of `--fail-on`, in its order; absent where no gate was asked. */
  readonly gates?: readonly GateOutcome[];
}
