/** What one run of one arm measured, and the percentiles of it. */

/** Latencies to three digits, ascending, and how many requests had each. */
export type Latencies = readonly (readonly [latencyNs: number, requests: number])[];

/** One run of one arm. */
export interface Sample {
  readonly latencies: Latencies;
  readonly requests: number;
  /** Of all processes of the service, while the load ran, by requests. */
  readonly cpuNsPerRequest: number;
  readonly requestsPerS: number;
  readonly peakRssBytes: number;
  /** Collections, by kind: how many, and how long together. */
  readonly collections: readonly { kind: string; pauses: number; totalNs: number }[];
  /** Of a service that was boosted: what was done, over its whole life. */
  readonly boost?: Boosted;
}

/** What a driver did in one run. */
export interface Boosted {
  readonly boosts: number;
  readonly boostedShare: number;
  /** By the model, relative to no boost; null where it has no points. */
  readonly energyRelative: number | null;
}

/** Percentiles that may be told, highest first, as in a report. */
export const PERCENTILES = [99.9, 99, 95, 90, 75, 50] as const;
const REQUESTS_BEYOND = 10;

/** The highest percentile with ten requests beyond it; undefined below 20 requests. */
export function highestSupported(requests: number): number | undefined {
  return PERCENTILES.find((one) => requests - rankOf(requests, one) >= REQUESTS_BEYOND);
}

/** A percentile in nanoseconds; NaN of nothing. */
export function percentileNs(latencies: Latencies, percentile: number): number {
  const count = latencies.reduce((sum, [, requests]) => sum + requests, 0);
  let left = rankOf(count, percentile);
  for (const [latencyNs, requests] of latencies) {
    left -= requests;
    if (left <= 0) return latencyNs;
  }
  return Number.NaN;
}

/** Those that so many requests support, by name. */
export function percentilesNs(latencies: Latencies, requests: number): Record<string, number> {
  const highest = highestSupported(requests) ?? 0;
  const told = PERCENTILES.filter((one) => one <= highest);
  return Object.fromEntries(told.map((one) => [String(one), percentileNs(latencies, one)]));
}

/** The rank, from 1; 99.9 % of 10,000 is a little more than 9,990 in floating point. */
function rankOf(count: number, percentile: number): number {
  return Math.max(1, Math.ceil((count * percentile) / 100 - 1e-6));
}
