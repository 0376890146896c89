/** The answer of `whatif` (`spec/whatif.schema.json`), as the analysis gives it. */

/** A percentile that a scenario would have. */
export interface Predicted {
  readonly percentile: number;
  readonly latencyNs: number;
  /** 95 %; null where the recording is too short to tell. */
  readonly intervalNs: readonly [number, number] | null;
  /** Against the replay without a change: 0.1 is 10 % longer. */
  readonly change: number;
  readonly changeInterval: readonly [number, number] | null;
}

/** What a policy did with its lever. */
export interface PolicyOutcome {
  /** With all its settings. */
  readonly policy: string;
  readonly latencyNs: number;
  /** All loops have one lever, at the highest speed that one asks for. */
  readonly sharedDomain: boolean;
  /** So many loops have one together; null for all. */
  readonly domainLoops: number | null;
  /**
   * Share of the time that a loop works which looking may cost; null for any, and for who does not
   * look.
   */
  readonly budget: number | null;
  /** CPU time of one look; null for who knows more than a sensor tells, and does not look. */
  readonly lookNs: number | null;
  readonly boosts: number;
  /** Share of the time not at base speed. */
  readonly boostedShare: number;
  /** Modelled, by the same time at base speed. */
  readonly energy: number;
  /** What it shall reach, and what it did; null for one without a target. */
  readonly target: {
    readonly percentile: number;
    readonly latencyNs: number;
    /** Null where the load is too much. */
    readonly reachedNs: number | null;
  } | null;
  /** By how likely requests are to be in the tail; null for one that knows no types. */
  readonly types: readonly TypeOutcome[] | null;
}

/** A type of requests, and whether a policy boosts for it. */
export interface TypeOutcome {
  readonly route: string;
  readonly requests: number;
  /** The probability of being in the tail at base speed. */
  readonly tailChance: number;
  readonly boosted: boolean;
}

/** Requests that were turned away while a collection was due. */
export interface Shed {
  readonly requests: number;
  /** Of all. */
  readonly share: number;
  /** How often nobody was let in, and for how long at most. */
  readonly times: number;
  readonly longestNs: number;
}

/** What comes of one scenario. */
export interface Outcome {
  readonly name: string;
  /** What has more work than time: then there are no percentiles. */
  readonly saturated: 'loop' | 'pool' | null;
  readonly loopUse: number;
  readonly poolUse: number;
  readonly policy: PolicyOutcome | null;
  /** Who was turned away; null where nobody is. */
  readonly shed: Shed | null;
  /** Of who was served. */
  readonly percentiles: readonly Predicted[];
  /** Likewise, as `[latency in ns, requests]`; where it was asked for and nothing is saturated. */
  readonly latencies?: readonly (readonly [number, number])[];
}

/** A scheme in the plane of tail and energy. */
export interface FrontierPoint {
  readonly name: string;
  /** By how much the percentile becomes shorter: 0.2 is 20 %; longer is below 0. */
  readonly reduction: number;
  readonly reductionInterval: readonly [number, number] | null;
  /** Modelled, by the same time at base speed. */
  readonly energy: number;
  /** Another that is better in one of the two and not worse in the other; null on the frontier. */
  readonly beatenBy: string | null;
  /** By number: only those with the same lever are compared; null without one. */
  readonly lever: number | null;
}

/** Tail against energy of the schemes that differ in nothing but the policy. */
export interface Frontier {
  readonly percentile: number;
  /** The replay without a change first. */
  readonly points: readonly FrontierPoint[];
}

/** What 10 % less of a component would bring at the highest percentile. */
export interface Sensitivity {
  readonly component: string;
  readonly totalNs: number;
  readonly gainNs: number;
  readonly gainIntervalNs: readonly [number, number] | null;
}

/** The whole answer. */
export interface WhatIf {
  readonly schema: 'bobtail-whatif/1';
  readonly run: { readonly command: readonly string[]; readonly startedAt: string };
  readonly requests: number;
  /**
   * Came while the host took time from this machine: replayed, in no percentile. Null where these
   * were most: then all are in.
   */
  readonly leftOutRequests: number | null;
  /** The percentile that was asked for; it is told if enough requests lie beyond it. */
  readonly asked: number;
  /** Those that are told, highest first. */
  readonly percentiles: readonly number[];
  /** How near the replay without a change is to the recording. */
  readonly fidelity: {
    readonly events: number;
    readonly recordedNs: Readonly<Record<string, number>>;
    readonly off: Readonly<Record<string, number>>;
    readonly inferredRequests: number;
    readonly clientRequests: number;
    readonly poolThreads: number | null;
    /** Requests of which a part of the history was lost, of so many that were answered. */
    readonly truncatedRequests: number;
    readonly ofRequests: number;
    /** Records that were lost with events, and the time of which they were. */
    readonly losses: number;
    readonly lostNs: number;
  };
  readonly unchanged: Outcome;
  readonly scenarios: readonly Outcome[];
  /** Null where no scenario is a policy alone. */
  readonly frontier: Frontier | null;
  readonly sensitivity: readonly Sensitivity[];
  readonly notes: readonly string[];
}
