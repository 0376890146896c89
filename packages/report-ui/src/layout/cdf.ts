/**
 * Geometry of the latency distribution: latency to the right on a logarithmic scale, share of
 * requests upwards on one that gives each nine of the percentile the same room.
 *
 * A plain share axis would press the tail, which is what the page is about, into the last pixel.
 */
import { scaleLinear, scaleLog } from 'd3-scale';
import { curveStepAfter, line } from 'd3-shape';
import type { Distribution } from '../data/distribution';

/** Room of a plot, its margins included. */
export interface Box {
  readonly width: number;
  readonly height: number;
}

const MARGIN = { top: 26, right: 16, bottom: 34, left: 52 };
const TICKS = [0, 50, 90, 99, 99.9, 99.99, 99.999];
const DECADE = 10;

/** Distance in nines: 0 of none, 1 of 90 %, 2 of 99 %. */
function nines(share: number): number {
  return -Math.log10(1 - share);
}

/** The highest nine with a request beyond it. */
function topOf(count: number): number {
  return nines(1 - 0.5 / Math.max(1, count));
}

/** A tick: where, and what it says. */
export interface Tick {
  readonly at: number;
  readonly value: number;
}

/** Everything to draw. */
export interface CdfLayout {
  readonly plot: { left: number; right: number; top: number; bottom: number };
  readonly xOf: (latencyNs: number) => number;
  readonly yOf: (percentile: number) => number;
  readonly latencyAt: (x: number) => number;
  readonly latencyTicks: readonly Tick[];
  readonly percentileTicks: readonly Tick[];
  readonly lineOf: (distribution: Distribution) => string;
}

/** Lays out a plot in which all of the distributions have room; not all of them may be empty. */
export function layoutCdf(all: readonly Distribution[], box: Box): CdfLayout {
  const plot = {
    left: MARGIN.left,
    right: box.width - MARGIN.right,
    top: MARGIN.top,
    bottom: box.height - MARGIN.bottom,
  };
  const first = Math.min(...all.map(({ points }) => points[0]?.endNs ?? Infinity));
  const last = Math.max(...all.map(({ points }) => points.at(-1)?.endNs ?? 0));
  const x = scaleLog()
    .domain([Math.max(1, first * 0.85), Math.max(last * 1.1, first * 2)])
    .range([plot.left, plot.right]);
  const top = Math.max(...all.map(({ count }) => topOf(count)));
  const y = scaleLinear().domain([0, top]).range([plot.bottom, plot.top]);
  const yOf = (percentile: number): number => y(Math.min(top, nines(percentile / 100)));
  const trace = line<{ x: number; y: number }>(
    (point) => point.x,
    (point) => point.y,
  ).curve(curveStepAfter);
  return {
    plot,
    xOf: x,
    yOf,
    latencyAt: (at) => x.invert(at),
    latencyTicks: decades(x.domain() as [number, number]).map((value) => ({ at: x(value), value })),
    percentileTicks: TICKS.filter((percentile) => nines(percentile / 100) <= top).map((value) => ({
      at: yOf(value),
      value,
    })),
    lineOf: ({ points, count }) =>
      trace([
        { x: x(points[0]?.endNs ?? 1), y: plot.bottom },
        ...points.map(({ endNs, below }) => ({
          x: x(endNs),
          y: y(below >= count ? topOf(count) : nines(below / count)),
        })),
      ]) ?? '',
  };
}

/** Powers of ten, with 2 and 5 between them where there are few. */
function decades([low, high]: [number, number]): number[] {
  const within = (factors: readonly number[]): number[] => {
    const ticks: number[] = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
      for (const factor of factors) {
        const tick = factor * DECADE ** power;
        if (tick >= low && tick <= high) ticks.push(tick);
      }
    }
    return ticks;
  };
  const powers = within([1]);
  return powers.length >= 3 ? powers : within([1, 2, 5]);
}
