/**
 * Geometry of a forest plot: for each row a change, its interval and the noise around no change, on
 * one scale for all rows.
 *
 * The scale has room for every change, but not for every interval: one that is far too wide would
 * press all others into the middle. What is cut off is marked.
 */
import type { Change } from '../../../bobtail/src/cli/json/diff';

/** Room beyond the largest change, and the share of it that wide intervals may add. */
const ROOM = 1.15;
const INTERVAL_ROOM = 2;

/**
 * What is pictured: the change itself, or the ratio of B to A on a logarithmic scale, on which
 * twice as much lies as far from the middle as half as much.
 */
export type Measure = 'time' | 'ratio';

/** A change as figures on the scale, on which 0 is no change. */
interface Figures {
  readonly delta: number;
  readonly low: number;
  readonly high: number;
  readonly noise: readonly [number, number];
}

/** Places from 0 (left) to 1 (right). */
export interface ForestRow {
  readonly delta: number;
  readonly interval: { readonly from: number; readonly to: number; readonly cut: boolean };
  readonly noise: { readonly from: number; readonly to: number };
}

/** A scale, and rows on it. */
export interface Forest {
  /** What the ends stand for: nanoseconds, or shares of A. Equal ones: nothing is pictured. */
  readonly ends: readonly [number, number];
  /** Null of a change that cannot be told. */
  readonly rowOf: (change: Change) => ForestRow | null;
}

/** Lays out rows that belong together. */
export function layoutForest(changes: readonly Change[], measure: Measure): Forest {
  const known = changes.map((one) => figuresOf(one, measure)).filter((one) => one !== null);
  const largest = sizeOf(known.map(({ delta }) => delta));
  const widest = sizeOf(known.flatMap(({ low, high, noise }) => [low, high, ...noise]));
  // Where nothing changed, the intervals and the noise are all there is.
  const wanted = largest === 0 ? widest : Math.min(widest, largest * INTERVAL_ROOM);
  const end = Math.max(largest, wanted) * ROOM;
  const place = (value: number): number =>
    end === 0 ? 0.5 : Math.max(0, Math.min(1, 0.5 + value / end / 2));
  const rowOf = (change: Change): ForestRow | null => {
    const one = figuresOf(change, measure);
    if (one === null) return null;
    const { delta, low, high, noise } = one;
    const cut = -low > end || high > end;
    return {
      delta: place(delta),
      interval: { from: place(low), to: place(high), cut },
      noise: { from: place(noise[0]), to: place(noise[1]) },
    };
  };
  return { ends: measure === 'time' ? [-end, end] : [Math.expm1(-end), Math.expm1(end)], rowOf };
}

/** The largest of some figures; what fell to nothing or below has none on a scale of ratios. */
function sizeOf(figures: readonly number[]): number {
  return Math.max(0, ...figures.map(Math.abs).filter(Number.isFinite));
}

function figuresOf(change: Change, measure: Measure): Figures | null {
  const { aNs, deltaNs, lowNs, highNs, noiseNs } = change;
  if (deltaNs === null || lowNs === null || highNs === null || noiseNs === null) return null;
  if (measure === 'ratio' && !aNs) return null;
  const on = (ns: number): number =>
    measure === 'time' ? ns : Math.log(Math.max(0, 1 + ns / (aNs ?? 1)));
  return {
    delta: on(deltaNs),
    low: on(lowNs),
    high: on(highNs),
    noise: [on(-noiseNs), on(noiseNs)],
  };
}
