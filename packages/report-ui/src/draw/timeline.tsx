/** What the loop thread, V8 and the pool did around a request, with its critical path. */
import { useEffect, useId, useState } from 'preact/hooks';
import { notRunningWords } from '../../../bobtail/src/cli/report/sentences';
import { plain } from '../../../bobtail/src/cli/text/plain';
import { countOf, formatDuration } from '../../../bobtail/src/cli/text/units';
import type { Interruption, Request, Run } from '../data/request';
import {
  clamped,
  isBusy,
  layoutTimeline,
  moved,
  type Span,
  type TimelineLayout,
  zoomed,
} from '../layout/timeline';
import { useLook } from './context';
import { beginning, near, Recorded } from './text';
import { useWidth } from './width';

/** Letters of a label take about so much. */
const LETTER_WIDTH = 6.2;
const AROUND = 0.15;

/** The figure with its buttons; `segment` is the chosen one. */
export function TimelineFigure({ request, segment }: { request: Request; segment: number | null }) {
  const { timeline } = request;
  const whole: Span = { fromNs: timeline.fromNs, toNs: timeline.toNs };
  const [span, setSpan] = useState(whole);
  const [holder, width] = useWidth<HTMLDivElement>(1100);
  const title = useId();
  const layout = layoutTimeline(request, span, width);
  const chosen = segment === null ? undefined : request.segments[segment];
  useEffect(() => {
    if (chosen === undefined) return;
    const around = chosen.durationNs * AROUND + 1000;
    const fromNs = chosen.startNs - around;
    setSpan(clamped({ fromNs, toNs: chosen.startNs + chosen.durationNs + around }, whole));
  }, [chosen]);
  const tools: [string, string, () => Span][] = [
    ['whole', 'Show the whole request', () => whole],
    ['+', 'Zoom in', () => zoomed(span, whole, 0.5)],
    ['−', 'Zoom out', () => zoomed(span, whole, 2)],
    ['←', 'Earlier', () => moved(span, whole, -0.4)],
    ['→', 'Later', () => moved(span, whole, 0.4)],
  ];
  return (
    <figure class="timeline">
      <div class="tools">
        <h4>The event loop meanwhile</h4>
        <fieldset class="choice">
          <legend class="hidden">Part of the time that is shown</legend>
          {tools.map(([sign, name, next]) => (
            <button key={name} type="button" aria-label={name} onClick={() => setSpan(next())}>
              {sign}
            </button>
          ))}
        </fieldset>
      </div>
      <div class="plot" ref={holder}>
        <svg viewBox={`0 0 ${width} ${layout.height}`} role="img" aria-labelledby={title}>
          <title id={title}>{summaryOf(request, layout)}</title>
          <Lanes layout={layout} />
          <Loop layout={layout} request={request} />
          <Path layout={layout} segment={segment} />
        </svg>
      </div>
      <figcaption>
        The thick line is the critical path: in the lane where the request was.{' '}
        <span class="swatch exec" aria-hidden="true" />
        this request on the loop <span class="swatch other" aria-hidden="true" />
        others <span class="swatch work-gc" aria-hidden="true" />
        gc <span class="swatch work-jit" aria-hidden="true" />
        jit <span class="swatch work-ic" aria-hidden="true" />
        ic
        {timeline.interruptions.some((one) => one.class === 'cpu') && (
          <>
            {' '}
            <span class="swatch work-cpu" aria-hidden="true" />
            not running
          </>
        )}
        . Waiting: ready events that ran before the response left. Which pool thread ran a job is
        not recorded.
      </figcaption>
      <RunsTable request={request} span={span} />
    </figure>
  );
}

function summaryOf({ timeline }: Request, layout: TimelineLayout): string {
  const pauses = timeline.interruptions.filter((one) => one.class === 'gc');
  const gcNs = pauses.reduce((sum, one) => sum + one.spentNs, 0);
  return (
    `Timeline from ${formatDuration(Math.max(0, timeline.fromNs))} to ` +
    `${formatDuration(timeline.toNs)}: ${countOf(timeline.runs.length, 'stretch').replace(
      'stretchs',
      'stretches',
    )} on the loop, ` +
    `${countOf(timeline.jobs.length, 'pool job')}, ${formatDuration(gcNs)} of garbage collection, ` +
    `at most ${layout.waitingMost} waiting`
  );
}

function Lanes({ layout }: { layout: TimelineLayout }) {
  return (
    <g class="axes">
      {layout.ticks.map(({ x, atNs }) => (
        <g key={atNs}>
          <line x1={x} x2={x} y1={0} y2={layout.axisY} />
          <text x={x} y={layout.axisY + 15} text-anchor="middle">
            {atNs < 0 ? `−${formatDuration(-atNs)}` : formatDuration(atNs)}
          </text>
        </g>
      ))}
      {layout.lanes.map(({ name, top, height }) => (
        <text key={name} x={0} y={top + height / 2} dy="0.32em">
          {name}
        </text>
      ))}
    </g>
  );
}

/** Who ran, for a label and a tooltip. */
function nameOf(run: Run, home: string): string {
  const what = run.location === null ? run.type : run.location;
  return near([run.route ?? '', what].filter((part) => part !== '').join(' '), home);
}

function interruptionName({ class: cls, type }: Interruption): string {
  return cls === 'cpu' ? `not running: ${notRunningWords(type)}` : type;
}

function Loop({ layout, request }: { layout: TimelineLayout; request: Request }) {
  const { home } = useLook().page.meta;
  const own = Number(request.id.split(':')[1]);
  return (
    <g>
      <path class="waiting" d={layout.waiting} />
      {layout.runs.map(({ x, y, width, height, of }) => {
        const label = nameOf(of, home);
        const letters = Math.floor((width - 8) / LETTER_WIDTH);
        const more = of.merged === 0 ? '' : `, and ${countOf(of.merged, 'shorter one')}`;
        return (
          <g key={of.beginNs} class={of.request === own ? 'run own' : 'run'}>
            <rect x={x} y={y} width={width} height={height}>
              <title>{`${label} ${formatDuration(of.durationNs)}${more}`}</title>
            </rect>
            {letters > 6 && (
              <text x={x + 4} y={y + 10}>
                {beginning(label, letters)}
              </text>
            )}
          </g>
        );
      })}
      {layout.interruptions.map(({ x, y, width, height, of }) => (
        <rect
          key={`${of.class} ${of.beginNs}`}
          class={`fill-${of.class}`}
          x={x}
          y={y}
          width={width}
          height={height}
        >
          <title>{`${interruptionName(of)} ${formatDuration(of.spentNs)}`}</title>
        </rect>
      ))}
      {layout.jobs.map(({ x, y, width, height, of }) => (
        <rect key={of.event} class="job" x={x} y={y} width={width} height={height}>
          <title>
            {plain(
              `${of.resource ?? 'pool job'} ${formatDuration(of.durationNs)} ${of.route ?? ''}`,
            )}
          </title>
        </rect>
      ))}
    </g>
  );
}

function Path({ layout, segment }: { layout: TimelineLayout; segment: number | null }) {
  const { change } = useLook();
  return (
    <g class="path">
      {layout.joints.map(({ x, from, to }) => (
        <line key={`${x} ${from} ${to}`} x1={x} x2={x} y1={from} y2={to} />
      ))}
      {layout.path.map(({ x, y, width, height, of, index }) => (
        // The chips and the table of segments do the same for the keyboard.
        // biome-ignore lint/a11y/noStaticElementInteractions: see above
        <rect
          key={index}
          class={`${of.kind}${index === segment ? ' chosen' : ''}`}
          x={x}
          y={y}
          width={Math.max(width, 1.5)}
          height={height}
          onClick={() => change({ segment: index }, true)}
        >
          <title>{`${of.kind} ${formatDuration(of.durationNs)}`}</title>
        </rect>
      ))}
    </g>
  );
}

const ROWS_MAX = 60;

function RunsTable({ request, span }: { request: Request; span: Span }) {
  const { home } = useLook().page.meta;
  const { timeline } = request;
  const seen = (one: { beginNs: number; durationNs: number }): boolean =>
    one.beginNs < span.toNs && one.beginNs + one.durationNs > span.fromNs;
  const rows = [
    ...timeline.runs
      .filter((run) => seen(run) && isBusy(run))
      .map((run) => ({ ...run, lane: 'loop', what: nameOf(run, home) })),
    ...timeline.interruptions
      .filter(seen)
      .map((one) => ({ ...one, lane: one.class as string, what: interruptionName(one) })),
    ...timeline.jobs
      .filter(seen)
      .map((job) => ({ ...job, lane: 'pool', what: near(job.resource ?? 'job', home) })),
  ];
  const longest = rows.sort((a, b) => b.durationNs - a.durationNs).slice(0, ROWS_MAX);
  longest.sort((a, b) => a.beginNs - b.beginNs);
  return (
    <details class="data">
      <summary>The longest of what is shown, as a table</summary>
      <table>
        <thead>
          <tr>
            <th scope="col" class="number">
              at
            </th>
            <th scope="col" class="number">
              took
            </th>
            <th scope="col">lane</th>
            <th scope="col">what</th>
          </tr>
        </thead>
        <tbody>
          {longest.map((row) => (
            <tr key={`${row.lane} ${row.beginNs} ${row.what}`}>
              <td class="number">
                {row.beginNs < 0 ? `−${formatDuration(-row.beginNs)}` : formatDuration(row.beginNs)}
              </td>
              <td class="number">{formatDuration(row.durationNs)}</td>
              <td>{row.lane}</td>
              <td>
                <Recorded text={row.what} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
