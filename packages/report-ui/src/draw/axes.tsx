/** The axes of a latency distribution. */
import { formatCount } from '../../../bobtail/src/cli/text/units';
import type { CdfLayout } from '../layout/cdf';

/** Shares of requests upwards, latencies to the right. */
export function Axes({ layout }: { layout: CdfLayout }) {
  const { plot } = layout;
  return (
    <g class="axes">
      {layout.percentileTicks.map(({ at, value }) => (
        <g key={value}>
          <line x1={plot.left} x2={plot.right} y1={at} y2={at} />
          <text x={plot.left - 8} y={at} dy="0.32em" text-anchor="end">
            {value} %
          </text>
        </g>
      ))}
      {layout.latencyTicks.map(({ at, value }) => (
        <g key={value}>
          <line class="tick" x1={at} x2={at} y1={plot.bottom} y2={plot.bottom + 5} />
          <text x={at} y={plot.bottom + 19} text-anchor="middle">
            {tickText(value)}
          </text>
        </g>
      ))}
    </g>
  );
}

/** `10 ms`: ticks are round. */
function tickText(ns: number): string {
  const [unit, name] =
    ns >= 1e9 ? [1e9, 's'] : ns >= 1e6 ? [1e6, 'ms'] : ns >= 1e3 ? [1e3, 'µs'] : [1, 'ns'];
  return `${formatCount(ns / unit)} ${name}`;
}
