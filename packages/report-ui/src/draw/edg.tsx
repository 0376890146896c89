/** The event dependency graph of a request: one row an event, the critical path in bold. */
import { useState } from 'preact/hooks';
import { plain } from '../../../bobtail/src/cli/text/plain';
import { formatDuration } from '../../../bobtail/src/cli/text/units';
import type { Request, ShownSegment } from '../data/request';
import { type EdgLayout, layoutEdg, type Node } from '../layout/edg';
import { useLook } from './context';
import { Recorded } from './text';

const ROW = 34;
const COLUMN = 15;

/** The graph; `segment` is the chosen one. */
export function Edg({ request, segment }: { request: Request; segment: number | null }) {
  const [all, setAll] = useState(false);
  const layout = layoutEdg(request.events, all);
  const chosen = segment === null ? undefined : request.segments[segment];
  const culprits = new Set(chosen?.culprits.map(({ event }) => event));
  const gutter = layout.columns * COLUMN + 6;
  return (
    <div class="edg">
      <div class="tools">
        <h4>Its events, and what each led to</h4>
        <button type="button" aria-pressed={all} onClick={() => setAll(!all)}>
          also those beside the path
        </button>
      </div>
      <div class="graph">
        <Wires layout={layout} width={gutter} />
        <ol style={{ paddingLeft: `${gutter}px` }}>
          {layout.nodes.map((node) => (
            <EventRow
              key={node.event.id}
              node={node}
              request={request}
              segment={segment}
              culprit={culprits.has(node.event.id)}
            />
          ))}
        </ol>
      </div>
    </div>
  );
}

function Wires({ layout, width }: { layout: EdgLayout; width: number }) {
  const at = ({ row, column }: Node): [number, number] => [
    column * COLUMN + 8,
    row * ROW + ROW / 2,
  ];
  return (
    <svg
      class="wires"
      width={width}
      height={layout.nodes.length * ROW}
      viewBox={`0 0 ${width} ${layout.nodes.length * ROW}`}
      aria-hidden="true"
    >
      {layout.edges.map(({ from, to, critical }) => {
        const [[x1, y1], [x2, y2]] = [at(from), at(to)];
        const turn = Math.max(y1 + ROW / 2, y2 - ROW / 2);
        return (
          <path
            key={`${from.event.id} ${to.event.id}`}
            class={critical ? 'critical' : 'beside'}
            d={x1 === x2 ? `M${x1},${y1}V${y2}` : `M${x1},${y1}V${turn}L${x2},${y2}`}
          />
        );
      })}
      {layout.nodes.map((node) => {
        const [x, y] = at(node);
        return (
          <circle
            key={node.event.id}
            class={node.event.onPath ? 'critical' : 'beside'}
            cx={x}
            cy={y}
            r={node.event.onPath ? 5 : 3.5}
          />
        );
      })}
    </svg>
  );
}

interface EventRowProps {
  readonly node: Node;
  readonly request: Request;
  readonly segment: number | null;
  readonly culprit: boolean;
}

function EventRow({ node, request, segment, culprit }: EventRowProps) {
  const { event } = node;
  const own = Number(request.id.split(':')[1]);
  const segments = request.segments
    .map((one, index) => ({ one, index }))
    .filter(({ one }) => event.onPath && one.event === event.id);
  const length =
    event.beginNs === null || event.endNs === null ? undefined : event.endNs - event.beginNs;
  return (
    <li class={`${event.onPath ? 'on-path' : 'beside'}${culprit ? ' culprit' : ''}`}>
      <span class="event">
        <b>{event.type}</b>{' '}
        {event.request !== own && event.route !== null && (
          <>
            <Recorded text={event.route} />{' '}
          </>
        )}
        <span class="count" title={ranAs(event.generatedLocation)}>
          <Recorded text={event.location ?? event.resource ?? ''} />{' '}
          {length !== undefined && `ran ${formatDuration(length)}`}
        </span>
      </span>
      <span class="chips">
        {segments.map(({ one, index }) => (
          <Chip key={index} segment={one} index={index} chosen={index === segment} />
        ))}
      </span>
    </li>
  );
}

/** For the pointer only: the cause of a segment tells it to everybody. */
function ranAs(generated: string | null): string | undefined {
  return generated === null ? undefined : `ran as ${plain(generated)}`;
}

/** A segment to click. */
export function Chip(props: { segment: ShownSegment; index: number; chosen: boolean }) {
  const { segment, index, chosen } = props;
  const { change } = useLook();
  const { kind, part, durationNs, exact, inferred } = segment;
  const half = part === null ? '' : part === 'pool-wait' ? 'pool wait ' : 'pool run ';
  return (
    <button
      type="button"
      class="chip"
      aria-pressed={chosen}
      onClick={() => change({ segment: chosen ? null : index }, true)}
    >
      <span class={`swatch ${kind}`} aria-hidden="true" />
      {kind} {half}
      {exact ? '' : '~'}
      {formatDuration(durationNs)}
      {inferred && <span class="count"> inferred</span>}
    </button>
  );
}
