/** Tail against energy: the figure with its table, of which either points to the other. */
import { useId, useState } from 'preact/hooks';
import type { Frontier, FrontierPoint, Outcome } from '../../../../bobtail/src/cli/json/what-if';
import { formatCount, formatPercentile } from '../../../../bobtail/src/cli/text/units';
import {
  frontierOrder,
  leversOf,
  reductionIntervalText,
  reductionText,
  schemeName,
  standing,
} from '../../../../bobtail/src/cli/whatif/sentences';
import { type FrontierLayout, layoutFrontier, type Placed } from '../../layout/frontier';
import { beginning, Recorded } from '../text';
import { useWidth } from '../width';

const HEIGHT = 400;
const NAME_SHOWN = 34;
const INTERVALS_MAX = 14;

interface Chosen {
  /** The name of the scheme that is pointed at. */
  readonly name: string | undefined;
  readonly choose: (name: string | undefined) => void;
}

const label = ({ name }: FrontierPoint): string => beginning(schemeName(name), NAME_SHOWN);

/** Both. */
export function Plane({
  frontier,
  scenarios,
}: {
  frontier: Frontier;
  scenarios: readonly Outcome[];
}) {
  const [name, choose] = useState<string | undefined>(undefined);
  return (
    <div class="first plane">
      <section aria-labelledby="plane">
        <h2 id="plane">Tail against energy</h2>
        <Figure frontier={frontier} name={name} choose={choose} />
      </section>
      <section aria-labelledby="schemes">
        <h2 id="schemes">Each scheme</h2>
        <Schemes frontier={frontier} scenarios={scenarios} name={name} choose={choose} />
      </section>
    </div>
  );
}

function Figure({ frontier, name, choose }: { frontier: Frontier } & Chosen) {
  const [holder, width] = useWidth<HTMLDivElement>(620);
  const title = useId();
  const layout = layoutFrontier(frontier.points, label, { width, height: HEIGHT });
  const best = frontier.points.filter(({ beatenBy }) => beatenBy === null);
  const tail = formatPercentile(frontier.percentile);
  return (
    <figure>
      <div class="plot" ref={holder}>
        <svg viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-labelledby={title}>
          <title id={title}>
            {`${tail} less, and energy: ${frontier.points.length} points, on the frontier ` +
              best
                .map((one) => `${schemeName(one.name)} ${reductionText(one.reduction)}`)
                .join(', ')}
          </title>
          <Axes layout={layout} tail={tail} />
          <path class="line frontier" d={layout.path} />
          {layout.placed.map((one) => (
            <Mark key={one.point.name} placed={one} name={name} choose={choose} />
          ))}
        </svg>
      </div>
      <figcaption>
        To the right {tail} is shorter, upwards modelled energy rises (logarithmic; 1 is the same
        time at base speed). Filled: on the frontier, no other scheme
        {leversOf(frontier.points).length > 1 && ' with the same lever'} is as good in one and
        better in the other. Hollow: beaten.
      </figcaption>
    </figure>
  );
}

function Axes({ layout, tail }: { layout: FrontierLayout; tail: string }) {
  const { plot } = layout;
  return (
    <g class="axes">
      {layout.energyTicks.map(({ at, value }) => (
        <g key={value}>
          <line x1={plot.left} x2={plot.right} y1={at} y2={at} />
          <text x={plot.left - 8} y={at} dy="0.32em" text-anchor="end">
            {value}×
          </text>
        </g>
      ))}
      {layout.reductionTicks.map(({ at, value }) => (
        <g key={value}>
          <line class="tick" x1={at} x2={at} y1={plot.bottom} y2={plot.bottom + 5} />
          <text x={at} y={plot.bottom + 19} text-anchor="middle">
            {`${value < 0 ? '−' : ''}${Math.abs(value)} %`}
          </text>
        </g>
      ))}
      <text x={plot.right} y={plot.bottom + 38} text-anchor="end">
        {tail} shorter by
      </text>
      <text x={plot.left} y={plot.top - 8} text-anchor="end">
        energy
      </text>
    </g>
  );
}

function Mark({ placed, name, choose }: { placed: Placed } & Chosen) {
  const { point, x, y, label: place } = placed;
  const isChosen = point.name === name;
  const kind = [point.beatenBy === null ? 'best' : 'beaten', isChosen ? 'chosen' : ''].join(' ');
  return (
    <g
      class={`point ${kind}`}
      onPointerEnter={() => choose(point.name)}
      onPointerLeave={() => choose(undefined)}
    >
      <circle cx={x} cy={y} r={isChosen ? 7 : 4.5} />
      {(place !== undefined || isChosen) && (
        <text
          x={place?.x ?? x}
          y={place?.y ?? y - 14}
          dy="0.32em"
          text-anchor={place === undefined ? 'middle' : place.left ? 'end' : 'start'}
        >
          {label(point)}
        </text>
      )}
    </g>
  );
}

function Schemes({
  frontier,
  scenarios,
  name,
  choose,
}: { frontier: Frontier; scenarios: readonly Outcome[] } & Chosen) {
  const policyOf = (point: FrontierPoint) =>
    scenarios.find((one) => one.name === point.name)?.policy ?? undefined;
  const hasIntervals = frontier.points.some((one) => one.reductionInterval !== null);
  return (
    <table class="schemes">
      <thead>
        <tr>
          <th scope="col">scheme</th>
          <th scope="col" class="number">
            {formatPercentile(frontier.percentile)} less
          </th>
          <th scope="col" class="number">
            modelled energy
          </th>
          <th scope="col" class="number">
            boosts
          </th>
          <th scope="col">against the others</th>
        </tr>
      </thead>
      <tbody>
        {frontierOrder(frontier).map((point) => (
          <tr
            key={point.name}
            class={`${point.beatenBy === null ? 'best' : 'beaten'}${point.name === name ? ' chosen' : ''}`}
            onPointerEnter={() => choose(point.name)}
            onPointerLeave={() => choose(undefined)}
          >
            <th scope="row">
              <button
                type="button"
                class="name"
                aria-pressed={point.name === name}
                onFocus={() => choose(point.name)}
                onBlur={() => choose(undefined)}
                onClick={() => choose(point.name)}
              >
                <Recorded text={schemeName(point.name)} />
              </button>
            </th>
            <td class="number" data-label={`${formatPercentile(frontier.percentile)} less`}>
              {reductionText(point.reduction)}
              {hasIntervals && frontier.points.length <= INTERVALS_MAX && (
                <span class="count"> {reductionIntervalText(point)}</span>
              )}
            </td>
            <td class="number" data-label="modelled energy">
              {point.energy.toFixed(3)}×
            </td>
            <td class="number" data-label="boosts">
              {formatCount(policyOf(point)?.boosts ?? 0)}
            </td>
            <td>
              <Recorded text={standing(point)} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
