/**
 * Geometry of tail against energy (VEE'19, Figure 7): reduction of the tail to the right, energy
 * upwards, and the frontier as steps, since between two schemes there is none.
 *
 * Energy has a logarithmic scale: schemes that differ by some per cent matter more than how far
 * above them all a fixed frequency is.
 */
import { scaleLinear, scaleLog } from 'd3-scale';
import type { FrontierPoint } from '../../../bobtail/src/cli/json/what-if';
import { leversOf } from '../../../bobtail/src/cli/whatif/sentences';
import type { Box, Tick } from './cdf';

const MARGIN = { top: 22, right: 18, bottom: 46, left: 58 };
const ENERGIES = [0.5, 0.75, 1, 1.05, 1.1, 1.2, 1.3, 1.5, 1.75, 2, 2.5, 3, 4, 6, 8, 12];
const LABEL = { height: 15, perCharacter: 6.6, beside: 9 };
const TICKS = 7;

/** A point with its place, and its label's. */
export interface Placed {
  readonly point: FrontierPoint;
  readonly x: number;
  readonly y: number;
  /** Undefined where there is no room: the table has it. */
  readonly label: { readonly x: number; readonly y: number; readonly left: boolean } | undefined;
}

/** Everything to draw. */
export interface FrontierLayout {
  readonly plot: { left: number; right: number; top: number; bottom: number };
  readonly reductionTicks: readonly Tick[];
  readonly energyTicks: readonly Tick[];
  readonly placed: readonly Placed[];
  /** The frontier, one for each lever; above and left of it everything with that is beaten. */
  readonly path: string;
}

/** Lays out the points; `nameOf` is what a label says. */
export function layoutFrontier(
  points: readonly FrontierPoint[],
  nameOf: (point: FrontierPoint) => string,
  box: Box,
): FrontierLayout {
  const plot = {
    left: MARGIN.left,
    right: box.width - MARGIN.right,
    top: MARGIN.top,
    bottom: box.height - MARGIN.bottom,
  };
  const reductions = points.map(({ reduction }) => reduction * 100);
  const x = scaleLinear()
    .domain([Math.min(0, ...reductions), Math.max(5, ...reductions)])
    .nice()
    .range([plot.left, plot.right]);
  const energies = points.map(({ energy }) => energy);
  const [least, most] = [Math.min(1, ...energies), Math.max(1.1, ...energies)];
  const room = (most / least) ** 0.06;
  const y = scaleLog()
    .domain([least / room, most * room])
    .range([plot.bottom, plot.top]);
  const at = (point: FrontierPoint) => ({ x: x(point.reduction * 100), y: y(point.energy) });
  const spots = points.map((point) => ({ point, ...at(point) }));
  const [low = 0, high = Infinity] = y.domain();
  return {
    plot,
    reductionTicks: x.ticks(TICKS).map((value) => ({ at: x(value), value })),
    energyTicks: apart(
      ENERGIES.filter((value) => value >= low && value <= high).map((value) => ({
        at: y(value),
        value,
      })),
    ),
    placed: withLabels(spots, nameOf, plot),
    path: leversOf(points)
      .map((lever) => spots.filter(({ point }) => point.lever === null || point.lever === lever))
      .map((alike) => stepsOf(alike, plot))
      .join(''),
  };
}

/** Without those that would touch the one before. */
function apart(ticks: readonly Tick[]): Tick[] {
  const kept: Tick[] = [];
  for (const tick of ticks) {
    const last = kept.at(-1);
    if (last === undefined || last.at - tick.at >= LABEL.height) {
      kept.push(tick);
    }
  }
  return kept;
}

interface Spot {
  readonly point: FrontierPoint;
  readonly x: number;
  readonly y: number;
}

function stepsOf(spots: readonly Spot[], plot: FrontierLayout['plot']): string {
  const frontier = spots
    .filter(({ point }) => point.beatenBy === null)
    .sort((a, b) => a.x - b.x || b.y - a.y);
  const [first, ...rest] = frontier;
  if (first === undefined) return '';
  const steps = rest.map(({ x, y }) => `H${x}V${y}`);
  return `M${Math.min(first.x, plot.left)},${first.y}H${first.x}${steps.join('')}`;
}

interface Area {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

const touch = (a: Area, b: Area): boolean =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/** Labels beside their points, those on the frontier first, where nothing is yet. */
function withLabels(
  spots: readonly Spot[],
  nameOf: (point: FrontierPoint) => string,
  plot: Area,
): Placed[] {
  const taken: Area[] = spots.map(({ x, y }) => ({
    left: x - 5,
    right: x + 5,
    top: y - 5,
    bottom: y + 5,
  }));
  const labels = new Map<Spot, Placed['label']>();
  const isBeaten = ({ point }: Spot): number => (point.beatenBy === null ? 0 : 1);
  for (const spot of [...spots].sort((a, b) => isBeaten(a) - isBeaten(b))) {
    const width = nameOf(spot.point).length * LABEL.perCharacter;
    for (const { left, lift } of PLACES) {
      const x = spot.x + (left ? -LABEL.beside : LABEL.beside);
      const y = spot.y + lift;
      const area = {
        left: left ? x - width : x,
        right: left ? x : x + width,
        top: y - LABEL.height / 2,
        bottom: y + LABEL.height / 2,
      };
      const isInside = area.left >= plot.left && area.right <= plot.right + MARGIN.right;
      if (isInside && taken.every((one) => !touch(one, area))) {
        taken.push(area);
        labels.set(spot, { x, y, left });
        break;
      }
    }
  }
  return spots.map((spot) => ({ ...spot, label: labels.get(spot) }));
}

/** Where a label may stand, best first. */
const PLACES = [0, -11, 11].flatMap((lift) => [
  { left: false, lift },
  { left: true, lift },
]);
