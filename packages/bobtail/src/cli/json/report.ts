/**
 * The answer of `report` (`spec/report.schema.json`), as the analysis gives it.
 *
 * Durations are whole nanoseconds; the breakdown holds means per request of its class.
 */
import type { GateOutcome } from '../../gates/outcome';
import type { Detail, Outcome } from './run';

/**
 * What the loop thread did, over queue + exec, to which it sums; null is "not measured for all",
 * never zero, and its time is in native.
 */
export interface Work {
  readonly nativeNs: number | null;
  readonly gcNs: number | null;
  readonly jitNs: number | null;
  readonly icNs: number | null;
  /** The loop was in the kernel or between events. */
  readonly loopNs: number | null;
  /** The thread was runnable, but descheduled or throttled. */
  readonly notRunningNs: number | null;
}

/** The tail, or the rest. */
export type RequestClass = 'tail' | 'nontail';

/** Where requests of one class spent their time: means per request. */
export interface TimeSpent {
  readonly class: RequestClass;
  readonly count: number;
  readonly latencyNs: number;
  readonly ioNs: number;
  readonly queueNs: number;
  readonly execNs: number;
  readonly unattributedNs: number;
  readonly work: Work;
}

/** The requests of one route and class. */
export interface Breakdown extends TimeSpent {
  /** `*` stands for all routes. */
  readonly route: string;
  /** Whole callback times added along the path, as the paper does; counts time twice. */
  readonly paperSumNs: number;
}

/** The requests of one process and class. */
export interface ProcessBreakdown extends TimeSpent {
  readonly pid: number;
  readonly thread: number;
}

/**
 * Means per request of the tail over all processes: the paper's table of a cluster. The parts sum
 * to the latency; null is "not measured", whose time is in native.
 */
export interface Cluster {
  /** That finished requests. */
  readonly processes: number;
  /** Requests of the tail. */
  readonly count: number;
  readonly latencyNs: number;
  readonly ioNs: number;
  readonly icNs: number | null;
  readonly gcNs: number | null;
  readonly jitNs: number | null;
  readonly nativeNs: number | null;
  /** The loop's own time, not running, and what is unattributed. */
  readonly otherNs: number;
}

/** Collections of one kind. */
export interface Collections {
  readonly kind: string;
  readonly pauses: number;
  readonly totalNs: number;
  readonly longestNs: number;
  /** Requests of the tail that they delayed, and by how much in total. */
  readonly victims: number;
  readonly inflictedNs: number;
}

/** One collection and the requests that it delayed. */
export interface Pause {
  readonly kind: string;
  readonly pid: number;
  readonly thread: number;
  /** Among all collections of its loop, as in the answer of explain. */
  readonly number: number;
  /** From the start of the run. */
  readonly startNs: number;
  readonly durationNs: number;
  /** What had the loop thread when it began; null is unknown. */
  readonly inside: Pick<Culprit, 'kind' | 'route' | 'type' | 'location'> | null;
  /** Requests that it delayed, those of the tail too. */
  readonly victims: number;
  readonly tailVictims: number;
  /** By how much in total. */
  readonly inflictedNs: number;
  /** Some of them: the tail first, then those that it delayed most. */
  readonly requests: readonly {
    readonly id: string;
    readonly class: RequestClass;
    readonly delayNs: number;
    readonly latencyNs: number;
  }[];
}

/** Waiting for one resource. */
export interface IoShare {
  readonly class: RequestClass;
  readonly resource: string;
  /** A port of this machine at which the recorded service itself listens. */
  readonly ownService: boolean;
  readonly kind: string;
  /** Requests that waited for it. */
  readonly requests: number;
  /** Mean per request of the class, as the parts below. */
  readonly ioNs: number;
  readonly poolWaitNs: number;
  readonly poolRunNs: number;
  readonly sharedNs: number;
}

/** What made tail requests wait: for the loop thread, or for a thread of the pool (`job`). */
export interface Culprit {
  readonly kind: 'event' | 'gc' | 'loop' | 'cpu' | 'job';
  readonly route: string | null;
  /** Kind of the callback, of the collection …; of a job what it worked on. */
  readonly type: string;
  /**
   * `function file:line:column`: in the source, where a source map leads to it. Of a collection who
   * asked for it, of a job the code that it was started in.
   */
  readonly location: string | null;
  /** The same in what ran, if `location` is in a source. */
  readonly generatedLocation: string | null;
  /** Total over all tail requests. */
  readonly inflictedNs: number;
  readonly victims: number;
  readonly occurrences: number;
  /** The most that one request waited for one of them. */
  readonly longestNs: number;
}

/** A conclusion with what to do about it. */
export interface Finding {
  readonly code: string;
  readonly sentence: string;
  readonly action: string;
  /** Mean per tail request. */
  readonly impactNs: number;
}

/** Something this host or Node did not allow to measure. */
export interface Unavailable {
  readonly mechanism: string;
  readonly reason: string;
}

/** The whole answer. */
export interface Report {
  readonly schema: 'bobtail-report/1';
  readonly run: {
    readonly command: readonly string[];
    readonly startedAt: string;
    readonly durationNs: number;
    /** Of it, the time in which recording was not paused. */
    readonly recordedNs: number;
    readonly node: readonly string[];
    readonly processes: readonly {
      readonly pid: number;
      readonly thread: number;
      readonly node: string;
      readonly requests: number;
      /** When, from the start of the run, its recording ended before it did, and why. */
      readonly ended: {
        readonly atNs: number;
        readonly reason: 'event-numbers' | 'disk-full' | 'paused';
      } | null;
    }[];
    readonly detail: Detail;
    readonly warmupNs: number;
    readonly outcome: Outcome | null;
  };
  readonly requests: {
    readonly count: number;
    readonly complete: number;
    readonly inferred: number;
    readonly truncated: number;
    readonly warmup: number;
    readonly unfinished: number;
    /** Under way when recording paused or went on. */
    readonly straddling: number;
    /** Of `count`: the connection was closed before the whole response had left. */
    readonly cutOff: number;
    readonly meanNs: number;
    readonly percentilesNs: Readonly<Record<string, number>>;
    readonly confidenceNs: Readonly<Record<string, readonly [number, number]>>;
  };
  readonly tail: {
    readonly percentile: number;
    readonly requestedPercentile: number;
    readonly thresholdNs: number;
    readonly count: number;
    readonly note: string | null;
  };
  readonly breakdown: readonly Breakdown[];
  /** Of each process with requests. */
  readonly processes: readonly ProcessBreakdown[];
  /** The tail of them together; null of a single process. */
  readonly cluster: Cluster | null;
  readonly io: readonly IoShare[];
  readonly gc: readonly Collections[];
  /** The longest single collections, longest first. */
  readonly pauses: readonly Pause[];
  readonly culprits: readonly Culprit[];
  readonly findings: readonly Finding[];
  readonly losses: Readonly<Record<string, number>>;
  readonly unavailable: readonly Unavailable[];
  /** What to know about source maps: those that cannot be read, files that changed since. */
  readonly notes: readonly string[];
  /** What came of `--fail-on`, in its order; absent where no gate was asked. */
  readonly gates?: readonly GateOutcome[];
}
