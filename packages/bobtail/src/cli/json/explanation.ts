/**
 * The answer of `explain` (`spec/explain.schema.json`): one request, segment by segment.
 *
 * Times are nanoseconds from the ready time of the source; the segments tile the latency.
 */
import type { Work } from './report';

/** A whole collection. */
export interface Pause {
  /** Among all of its trace. */
  readonly number: number;
  /** From the ready time of the source; negative before it. */
  readonly startNs: number;
  readonly durationNs: number;
}

/** Whom a queue segment waited behind, or what interrupted an exec segment. */
export interface SegmentCulprit {
  readonly event: number;
  readonly route: string | null;
  readonly type: string;
  readonly location: string | null;
  readonly generatedLocation: string | null;
  readonly durationNs: number;
  /** The collection of which this is a part. */
  readonly pause: Pause | null;
}

/** A piece of the critical path. */
export interface Segment {
  readonly kind: 'io' | 'queue' | 'exec' | 'unattributed';
  readonly startNs: number;
  readonly durationNs: number;
  readonly event: number;
  readonly type: string;
  readonly resource: string | null;
  /** io: the wait was for another request's work. */
  readonly shared: boolean;
  readonly work: Work;
  /** Both ends were observed. */
  readonly exact: boolean;
  readonly inferred: boolean;
  readonly part: null | 'pool-wait' | 'pool-run';
  readonly culprits: readonly SegmentCulprit[];
}

/** An event of the request's history; 0 is no event, null an unknown time. */
export interface ExplainedEvent {
  readonly id: number;
  readonly type: string;
  readonly registrar: number;
  readonly loopEvent: number;
  readonly request: number;
  readonly route: string | null;
  readonly registerNs: number | null;
  readonly readyNs: number | null;
  readonly readyQuality: null | 'exact' | 'bound' | 'estimate';
  readonly beginNs: number | null;
  readonly endNs: number | null;
  readonly location: string | null;
  readonly generatedLocation: string | null;
  readonly resource: string | null;
  readonly onPath: boolean;
}

/** The whole answer. */
export interface Explanation {
  readonly schema: 'bobtail-explain/1';
  /** `<pid>-<thread>:<request>`. */
  readonly id: string;
  readonly route: string;
  readonly latencyNs: number;
  /** HTTP status; 0 unknown. */
  readonly status: number;
  readonly complete: boolean;
  readonly inferredHops: number;
  readonly truncated: boolean;
  readonly segments: readonly Segment[];
  readonly events: readonly ExplainedEvent[];
  /** As of the report. */
  readonly notes: readonly string[];
}
