/**
 * What a boost is measured by, as metrics: pure, and the same for every way of telling them.
 *
 * Named as Prometheus wants it, in base units with the unit last; OpenTelemetry takes the same.
 */
import { type Counted, latencyOfBucketNs } from '../latencies';
import type { Live } from '../live';

/** One number with its labels. */
export interface Point {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Numbers of one name. */
export interface NumberMetric {
  readonly kind: 'counter' | 'gauge';
  readonly name: string;
  readonly help: string;
  /** As UCUM has it: `s`, `1`, `J`. */
  readonly unit: string;
  readonly points: readonly Point[];
}

/** Counts of what lies at or below each bound. */
export interface HistogramMetric {
  readonly kind: 'histogram';
  readonly name: string;
  readonly help: string;
  readonly unit: string;
  readonly bounds: readonly number[];
  /** In each bucket, one more than there are bounds. */
  readonly counts: readonly number[];
  readonly count: number;
  readonly sum: number;
}

/** A metric. */
export type Metric = NumberMetric | HistogramMetric;

const NS_PER_S = 1e9;
/** From 100 µs to 10 s, a third of a power of ten apart. */
const BOUNDS_S = [
  0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10,
] as const;
const FROM_TO = 'from when the kernel had it to the first bytes of its response';

/** All metrics of this moment. */
export function metricsOf({ summary, counted, recent }: Live): Metric[] {
  const { policy, actuator, isEmulated, counters, refused, drivenNs, energy } = summary;
  const about = { policy, actuator, emulated: String(isEmulated), refused: refused ?? '' };
  const info = gauge('bobtail_boost_info', 'What boosts; 1 where it does', '1', [
    { labels: about, value: counters === null ? 0 : 1 },
  ]);
  const metrics: Metric[] = [info];
  if (counters !== null) {
    const { boosts, boostedNs, lookingNs, lostNs } = counters;
    const reasons = {
      collection: counters.forCollection,
      queue_length: counters.forQueueLength,
      head: counters.forHead,
      long_turn: counters.forLongTurn,
    };
    metrics.push(
      counter('bobtail_boosts_total', 'Boosts that began', '1', boosts),
      {
        ...counter('bobtail_boosts_by_reason_total', 'By why; one may have several', '1', 0),
        points: Object.entries(reasons).map(([reason, value]) => ({ labels: { reason }, value })),
      },
      counter('bobtail_boosted_seconds_total', 'Time at peak', 's', boostedNs / NS_PER_S),
      counter('bobtail_driven_seconds_total', 'Time with a driver', 's', drivenNs / NS_PER_S),
      counter('bobtail_looks_total', 'Looks at the loops', '1', counters.looks),
      counter('bobtail_looking_seconds_total', 'CPU time of looks', 's', lookingNs / NS_PER_S),
      counter('bobtail_lever_refusals_total', 'Refused by the lever', '1', counters.refused),
      counter('bobtail_lever_lost_seconds_total', 'Time without a lever', 's', lostNs / NS_PER_S),
    );
  }
  if (energy?.kind === 'modelled') {
    const help = 'Modelled, relative to no boost at all';
    const labels = { source: 'modelled' };
    const points = [{ labels, value: energy.relativeToBase }];
    metrics.push(gauge('bobtail_energy_ratio', help, '1', points));
  }
  if (energy?.kind === 'measured') {
    const help = 'Of the packages of this machine, counted by RAPL';
    metrics.push(counter('bobtail_energy_joules_total', help, 'J', energy.joules));
  }
  metrics.push(latencyHistogram(counted));
  const quantiles = Object.entries(recent?.percentilesNs ?? {}).map(([percentile, ns]) => ({
    labels: { quantile: String(Number((Number(percentile) / 100).toFixed(4))) },
    value: ns / NS_PER_S,
  }));
  if (quantiles.length > 0) {
    const help = `Latency of requests of the last minute, ${FROM_TO}`;
    metrics.push(gauge('bobtail_request_latency_quantile_seconds', help, 's', quantiles));
  }
  return metrics;
}

function latencyHistogram({ buckets, count, sumNs }: Counted): HistogramMetric {
  const counts = new Array<number>(BOUNDS_S.length + 1).fill(0);
  for (const [bucket, times] of buckets) {
    const latencyS = latencyOfBucketNs(bucket) / NS_PER_S;
    const at = BOUNDS_S.findIndex((bound) => latencyS <= bound);
    const place = at < 0 ? BOUNDS_S.length : at;
    counts[place] = (counts[place] ?? 0) + times;
  }
  return {
    kind: 'histogram',
    name: 'bobtail_request_latency_seconds',
    help: `Latency of requests, ${FROM_TO}`,
    unit: 's',
    bounds: BOUNDS_S,
    counts,
    count,
    sum: sumNs / NS_PER_S,
  };
}

function counter(name: string, help: string, unit: string, value: number): NumberMetric {
  return { kind: 'counter', name, help, unit, points: [{ labels: {}, value }] };
}

function gauge(name: string, help: string, unit: string, points: readonly Point[]): NumberMetric {
  return { kind: 'gauge', name, help, unit, points };
}
