/** Both distributions of latency over each other, with the percentiles that are compared. */
import { useId } from 'preact/hooks';
import { deltaText } from '../../../../bobtail/src/cli/diff/sentences';
import type { PercentileDiff } from '../../../../bobtail/src/cli/json/diff';
import { countOf, formatCount, formatDuration } from '../../../../bobtail/src/cli/text/units';
import { type Distributions, routeOf, type SideName } from '../../data/diff-page';
import { countBelow } from '../../data/distribution';
import { type CdfLayout, layoutCdf } from '../../layout/cdf';
import { Axes } from '../axes';
import { usePointerX } from '../pointer';
import { useWidth } from '../width';
import { useDiffLook } from './look';

const HEIGHT = 320;
const SIDES: readonly SideName[] = ['a', 'b'];

/** The figure; its numbers are those of the table beside it. */
export function Curves() {
  const { page, view } = useDiffLook();
  const [holder, width] = useWidth<HTMLDivElement>(620);
  const title = useId();
  const route = routeOf(page, view);
  const curves = page.curves[view.route];
  if (curves === undefined) return null;
  const shown = SIDES.filter((side) => curves[side].count > 0);
  const layout = layoutCdf(
    shown.map((side) => curves[side]),
    { width, height: HEIGHT },
  );
  const told = route.percentiles.filter(({ latency }) => latency.verdict !== 'too-few');
  const counts = SIDES.map(
    (side) => `${side.toUpperCase()} ${countOf(curves[side].count, 'request')}`,
  );
  return (
    <figure>
      <div class="plot" ref={holder}>
        <svg viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-labelledby={title}>
          <title id={title}>{`Latencies of ${counts.join(' and ')}`}</title>
          <Axes layout={layout} />
          {shown.map((side) => (
            <path key={side} class={`line ${side}`} d={layout.lineOf(curves[side])} />
          ))}
          <Steps layout={layout} told={told} />
          <Reading layout={layout} curves={curves} />
        </svg>
      </div>
      <figcaption>
        Share of requests that took at most so long; each nine has the same height.{' '}
        <SideKey side="a" /> {counts[0]}, <SideKey side="b" /> {counts[1]}.
      </figcaption>
    </figure>
  );
}

/** How a recording is drawn. */
export function SideKey({ side }: { side: SideName }) {
  return (
    <svg class="key" viewBox="0 0 26 10" width="26" height="10" aria-hidden="true">
      <path class={`line ${side}`} d="M1,5H25" />
    </svg>
  );
}

/** From A to B at each percentile. */
function Steps({ layout, told }: { layout: CdfLayout; told: readonly PercentileDiff[] }) {
  const { plot } = layout;
  return (
    <g class="steps">
      {told.map(({ percentile, latency }) => {
        const [from, to] = [layout.xOf(latency.aNs ?? 1), layout.xOf(latency.bNs ?? 1)];
        const y = layout.yOf(percentile);
        const left = Math.min(from, to) > plot.left + 110;
        return (
          <g key={percentile} class={latency.verdict}>
            <line x1={from} x2={to} y1={y} y2={y} />
            <circle class="a" cx={from} cy={y} r="3.5" />
            <circle class="b" cx={to} cy={y} r="3.5" />
            <text
              x={left ? Math.min(from, to) - 9 : Math.max(from, to) + 9}
              y={y - 6}
              text-anchor={left ? 'end' : 'start'}
            >
              p{percentile} <tspan class="figure">{deltaText(latency)}</tspan>
            </text>
          </g>
        );
      })}
    </g>
  );
}

/** What the pointer is at. */
function Reading({ layout, curves }: { layout: CdfLayout; curves: Distributions }) {
  const { x, read, leave } = usePointerX();
  const { plot } = layout;
  const ns = x === undefined ? 0 : layout.latencyAt(x);
  const slower = SIDES.map((side) => {
    const { count } = curves[side];
    const many = count - countBelow(curves[side], ns);
    const share = count === 0 ? '' : ` (${((many / count) * 100).toFixed(2)} %)`;
    return `${side.toUpperCase()} ${formatCount(many)}${share}`;
  });
  return (
    <g class="reading">
      {x !== undefined && (
        <>
          <line x1={x} x2={x} y1={plot.top} y2={plot.bottom} />
          <text x={plot.left + 6} y={plot.top - 12}>
            {`slower than ${formatDuration(ns)}: ${slower.join(', ')}`}
          </text>
        </>
      )}
      <rect
        class="catch"
        x={plot.left}
        y={plot.top}
        width={plot.right - plot.left}
        height={plot.bottom - plot.top}
        onPointerMove={read}
        onPointerLeave={leave}
      />
    </g>
  );
}
