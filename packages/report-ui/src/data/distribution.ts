/**
 * The distribution of latencies of a view, from the counts in buckets one to two percent wide.
 */
import type { Page } from './page';
import type { View } from './view';

const BUCKETS_PER_OCTAVE = 64;

/** Latencies below `endNs` and how many there are, of rising latency. */
export interface Point {
  readonly endNs: number;
  readonly below: number;
}

/** Points in order, and all requests. */
export interface Distribution {
  readonly points: readonly Point[];
  readonly count: number;
}

/** Where a bucket begins (see `crates/breakdown/src/page/curve.rs`). */
export function bucketBeginNs(bucket: number): number {
  const shift = Math.max(0, Math.floor(bucket / BUCKETS_PER_OCTAVE) - 1);
  return (bucket - BUCKETS_PER_OCTAVE * shift) * 2 ** shift;
}

/** The requests of a process and route, or of all where the view says null. */
export function distributionOf(page: Page, view: Pick<View, 'route' | 'process'>): Distribution {
  const rows = page.curves.filter(
    ({ process, route }) =>
      (view.process === null || view.process === process) &&
      (view.route === null || view.route === route),
  );
  return distributionOfSteps(rows.map(({ steps }) => steps));
}

/** The requests of several curves: steps from bucket to bucket and counts, alternating. */
export function distributionOfSteps(curves: readonly (readonly number[])[]): Distribution {
  const counts = new Map<number, number>();
  for (const steps of curves) {
    let bucket = 0;
    for (let i = 0; i + 1 < steps.length; i += 2) {
      bucket += steps[i] ?? 0;
      counts.set(bucket, (counts.get(bucket) ?? 0) + (steps[i + 1] ?? 0));
    }
  }
  let below = 0;
  const points = [...counts]
    .sort(([a], [b]) => a - b)
    .map(([bucket, count]) => {
      below += count;
      return { endNs: bucketBeginNs(bucket + 1), below };
    });
  return { points, count: below };
}

/** The latency that so many percent stay below, to the width of a bucket; 0 of no requests. */
export function percentileNs({ points, count }: Distribution, percentile: number): number {
  const rank = Math.max(1, Math.ceil((count * percentile) / 100 - 1e-6));
  return points.find(({ below }) => below >= rank)?.endNs ?? 0;
}

/** How many stay below a latency. */
export function countBelow({ points }: Distribution, latencyNs: number): number {
  let below = 0;
  for (const point of points) {
    if (point.endNs > latencyNs) break;
    below = point.below;
  }
  return below;
}
