/** The distribution of latencies with the tail marked. */
import { useId } from 'preact/hooks';
import { countOf, formatCount, formatDuration } from '../../../bobtail/src/cli/text/units';
import { countBelow, type Distribution, distributionOf, percentileNs } from '../data/distribution';
import { isWhole } from '../data/view';
import { type CdfLayout, layoutCdf } from '../layout/cdf';
import { Axes } from './axes';
import { useLook } from './context';
import { usePointerX } from './pointer';
import { useWidth } from './width';

const HEIGHT = 300;
const LABELLED = [50, 90, 99, 99.9];

/** A percentile to be told. */
interface Told {
  readonly percentile: number;
  readonly ns: number;
}

function useTold(distribution: Distribution): Told[] {
  const { page, view } = useLook();
  const whole = isWhole(page, view);
  const { percentilesNs } = page.report.requests;
  return page.bands.map(({ percentile }) => ({
    percentile,
    ns: (whole ? percentilesNs[percentile] : undefined) ?? percentileNs(distribution, percentile),
  }));
}

/** The figure with its table. */
export function Cdf() {
  const { page, view } = useLook();
  const [holder, width] = useWidth<HTMLDivElement>(620);
  const title = useId();
  const all = distributionOf(page, { route: null, process: null });
  const shown = distributionOf(page, view);
  const part = view.route !== null || view.process !== null;
  const border = page.bands[view.border];
  const told = useTold(shown);
  const layout = layoutCdf([all], { width, height: HEIGHT });
  const tail = shown.count - countBelow(shown, border?.fromNs ?? 0);
  const summary = told.map(({ percentile, ns }) => `p${percentile} ${formatDuration(ns)}`);
  return (
    <figure>
      <div class="plot" ref={holder}>
        <svg viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-labelledby={title}>
          <title id={title}>
            {`Latency of ${countOf(shown.count, 'request')}: ${summary.join(', ')}`}
          </title>
          <Axes layout={layout} />
          {border !== undefined && <TailMark layout={layout} fromNs={border.fromNs} />}
          {part && <path class="line faint" d={layout.lineOf(all)} />}
          {shown.count > 0 && <path class="line" d={layout.lineOf(shown)} />}
          {shown.count > 0 && <Labels layout={layout} told={told} />}
          <Reading layout={layout} shown={shown} />
        </svg>
      </div>
      <figcaption>
        Share of requests that took at most so long; each nine has the same height.{' '}
        {border !== undefined && (
          <>
            Marked: the tail,{' '}
            {countOf(part ? tail : tailCount(page.report.tail.count, tail), 'request')} from{' '}
            {formatDuration(border.fromNs)} on.
          </>
        )}
        {part && ' The faint line is all requests.'}
      </figcaption>
      <details class="data">
        <summary>Percentiles as a table</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">percentile</th>
              <th scope="col" class="number">
                latency
              </th>
              <th scope="col" class="number">
                95 % interval
              </th>
            </tr>
          </thead>
          <tbody>
            {told.map(({ percentile, ns }) => (
              <tr key={percentile}>
                <th scope="row">p{percentile}</th>
                <td class="number">{formatDuration(ns)}</td>
                <td class="number">
                  {part ? '–' : interval(page.report.requests.confidenceNs[percentile])}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}

/** The exact count where the report has it. */
function tailCount(reported: number, estimated: number): number {
  return Math.abs(reported - estimated) <= estimated * 0.1 + 2 ? reported : estimated;
}

function interval(ends: readonly [number, number] | undefined): string {
  return ends === undefined ? '–' : ends.map(formatDuration).join(' – ');
}

function TailMark({ layout, fromNs }: { layout: CdfLayout; fromNs: number }) {
  const { plot } = layout;
  const x = Math.max(plot.left, Math.min(plot.right, layout.xOf(fromNs)));
  return (
    <g class="tail-mark">
      <rect x={x} y={plot.top} width={plot.right - x} height={plot.bottom - plot.top} />
      <line x1={x} x2={x} y1={plot.top - 8} y2={plot.bottom} />
      <text
        x={x > plot.right - 60 ? x - 5 : x + 5}
        y={plot.top - 12}
        text-anchor={x > plot.right - 60 ? 'end' : 'start'}
      >
        tail
      </text>
    </g>
  );
}

function Labels({ layout, told }: { layout: CdfLayout; told: readonly Told[] }) {
  const { plot } = layout;
  const labelled = told.filter(({ percentile }) => LABELLED.includes(percentile));
  return (
    <g class="labels">
      {labelled.map(({ percentile, ns }) => {
        const [x, y] = [layout.xOf(ns), layout.yOf(percentile)];
        const left = x > plot.left + 85;
        return (
          <g key={percentile}>
            <circle cx={x} cy={y} r="3.5" />
            <text x={left ? x - 9 : x + 9} y={y - 6} text-anchor={left ? 'end' : 'start'}>
              p{percentile} <tspan class="figure">{formatDuration(ns)}</tspan>
            </text>
          </g>
        );
      })}
    </g>
  );
}

/** What the pointer is at. */
function Reading({ layout, shown }: { layout: CdfLayout; shown: Distribution }) {
  const { x, read, leave } = usePointerX();
  const { plot } = layout;
  const ns = x === undefined ? 0 : layout.latencyAt(x);
  const below = countBelow(shown, ns);
  return (
    <g class="reading">
      {x !== undefined && (
        <>
          <line x1={x} x2={x} y1={plot.top} y2={plot.bottom} />
          <text x={plot.left + 6} y={plot.top - 12}>
            {`${formatDuration(ns)}: ${formatCount(shown.count - below)} slower`}
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
