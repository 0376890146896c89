/**
 * Geometry of the timeline: lanes from top to bottom, time to the right, and the critical path as
 * a line that goes through the lane in which the request was at each moment.
 */
import { scaleLinear } from 'd3-scale';
import type { Interruption, Job, Request, Run, ShownSegment } from '../data/request';

/** A part of the time, in nanoseconds from the ready time of the source. */
export interface Span {
  readonly fromNs: number;
  readonly toNs: number;
}

/** A lane: its name, and where it lies. */
export interface Lane {
  readonly name: string;
  readonly top: number;
  readonly height: number;
}

/** A box to draw, and what it stands for. */
export interface Box<T> {
  readonly x: number;
  readonly width: number;
  readonly y: number;
  readonly height: number;
  readonly of: T;
}

/** Everything to draw. */
export interface TimelineLayout {
  readonly height: number;
  readonly left: number;
  readonly right: number;
  readonly axisY: number;
  readonly lanes: readonly Lane[];
  readonly ticks: readonly { readonly x: number; readonly atNs: number }[];
  readonly runs: readonly Box<Run>[];
  readonly interruptions: readonly Box<Interruption>[];
  readonly jobs: readonly Box<Job>[];
  readonly waiting: string;
  readonly waitingMost: number;
  /** Pieces of the path with the position of their segment. */
  readonly path: readonly (Box<ShownSegment> & { readonly index: number })[];
  /** Joins one piece of the path to the next. */
  readonly joints: readonly { readonly x: number; readonly from: number; readonly to: number }[];
}

const LEFT = 76;
const RIGHT = 10;
const GAP = 8;
const HEIGHTS = { waiting: 34, loop: 26, v8: 14, job: 11, outside: 14 };
const POOL_ROWS_MAX = 6;
const LABEL_WIDTH = 70;
const TICK_WIDTH = 110;
const PATH_HEIGHT = 5;
/** What is narrower is not seen. */
const WIDTH_MIN = 0.35;

/** Lays out what lies in the span, for a width. */
export function layoutTimeline(request: Request, span: Span, width: number): TimelineLayout {
  const { timeline } = request;
  const left = width < 480 ? LABEL_WIDTH - 18 : LEFT;
  const right = width - RIGHT;
  const x = scaleLinear().domain([span.fromNs, span.toNs]).range([left, right]);
  const within = { span, x, left, right };
  const packed = pack(timeline.jobs.filter((job) => overlaps(job, span)));
  const poolRows = Math.max(1, ...packed.map(({ row }) => row + 1));
  const lanes = stackLanes(poolRows);
  const laneOf = (name: string): Lane => lanes.find((lane) => lane.name === name) as Lane;
  const inLane = <T extends Timed>(all: readonly T[], lane: Lane): Box<T>[] =>
    all.flatMap((one) => boxOf(one, lane.top, lane.height, within));
  const pool = laneOf('pool');
  const jobs = packed.flatMap(({ job, row }) =>
    boxOf(job, pool.top + row * HEIGHTS.job, HEIGHTS.job - 2, within),
  );
  const path = pathOf(request, lanes, packed, within);
  const bottom = lanes.at(-1) as Lane;
  const axisY = bottom.top + bottom.height + GAP;
  return {
    height: axisY + 22,
    left,
    right,
    axisY,
    lanes,
    ticks: x
      .ticks(Math.max(2, Math.floor((right - left) / TICK_WIDTH)))
      .map((atNs) => ({ x: x(atNs), atNs })),
    runs: inLane(timeline.runs.filter(isBusy), laneOf('loop')),
    interruptions: inLane(timeline.interruptions, laneOf('gc, jit, ic')),
    jobs,
    ...waitingArea(request, laneOf('waiting'), within),
    path,
    joints: path.slice(1).map((box, i) => ({
      x: box.x,
      from: (path[i] as Box<unknown>).y + PATH_HEIGHT / 2,
      to: box.y + PATH_HEIGHT / 2,
    })),
  };
}

/**
 * Whether the loop had something in hand, or what it had is lost. By its event, not by its type:
 * `other` is the kind of some callbacks, the main script among them, and also what is between two.
 */
export function isBusy({ event, type }: Run): boolean {
  return event !== 0 || type === 'lost';
}

interface Timed {
  readonly beginNs: number;
  readonly durationNs: number;
}

interface Within {
  readonly span: Span;
  readonly x: (ns: number) => number;
  readonly left: number;
  readonly right: number;
}

function overlaps({ beginNs, durationNs }: Timed, { fromNs, toNs }: Span): boolean {
  return beginNs < toNs && beginNs + durationNs > fromNs;
}

function boxOf<T extends Timed>(of: T, y: number, height: number, within: Within): Box<T>[] {
  if (!overlaps(of, within.span)) return [];
  const x = Math.max(within.left, within.x(of.beginNs));
  const end = Math.min(within.right, within.x(of.beginNs + of.durationNs));
  return [{ x, width: Math.max(WIDTH_MIN, end - x), y, height, of }];
}

function stackLanes(poolRows: number): Lane[] {
  let top = 4;
  const lane = (name: string, height: number): Lane => {
    const placed = { name, top, height };
    top += height + GAP;
    return placed;
  };
  return [
    lane('waiting', HEIGHTS.waiting),
    lane('loop', HEIGHTS.loop),
    lane('gc, jit, ic', HEIGHTS.v8),
    lane('pool', poolRows * HEIGHTS.job),
    lane('outside', HEIGHTS.outside),
  ];
}

/** Jobs in as few rows as they need; which thread ran each is not recorded. */
function pack(jobs: readonly Job[]): { job: Job; row: number }[] {
  const ends: number[] = [];
  return jobs.map((job) => {
    let row = ends.findIndex((end) => end <= job.beginNs);
    if (row < 0) row = ends.length < POOL_ROWS_MAX ? ends.length : POOL_ROWS_MAX - 1;
    ends[row] = job.beginNs + job.durationNs;
    return { job, row };
  });
}

function pathOf(
  request: Request,
  lanes: readonly Lane[],
  packed: readonly { job: Job; row: number }[],
  within: Within,
): (Box<ShownSegment> & { index: number })[] {
  const [waiting, loop, , pool, outside] = lanes as [Lane, Lane, Lane, Lane, Lane];
  const middle = (lane: Lane): number => lane.top + lane.height / 2 - PATH_HEIGHT / 2;
  const heightOf = (segment: ShownSegment): number => {
    switch (segment.kind) {
      case 'queue':
        return waiting.top + waiting.height - PATH_HEIGHT;
      case 'exec':
        return middle(loop);
      case 'io': {
        if (segment.part === null) return middle(outside);
        const row = packed.find(({ job }) => job.event === segment.event)?.row ?? 0;
        return pool.top + row * HEIGHTS.job + (HEIGHTS.job - 2 - PATH_HEIGHT) / 2;
      }
      case 'unattributed':
        return middle(outside);
    }
  };
  return request.segments.flatMap((segment, index) => {
    const timed = { beginNs: segment.startNs, durationNs: segment.durationNs };
    const [box] = boxOf(timed, heightOf(segment), PATH_HEIGHT, within);
    return box === undefined ? [] : [{ ...box, of: segment, index }];
  });
}

function waitingArea(
  { timeline }: Request,
  lane: Lane,
  { span, x, left, right }: Within,
): { waiting: string; waitingMost: number } {
  const most = Math.max(1, ...timeline.waiting.map(({ count }) => count));
  const bottom = lane.top + lane.height;
  const y = (count: number): number => bottom - (count / most) * lane.height;
  const clip = (ns: number): number => Math.min(right, Math.max(left, x(ns)));
  let now = 0;
  let path = '';
  for (const { atNs, count } of timeline.waiting) {
    if (atNs >= span.fromNs && atNs <= span.toNs) {
      if (path === '') path = `M${left},${bottom}V${y(now)}`;
      path += `H${clip(atNs)}V${y(count)}`;
    }
    now = count;
  }
  if (path === '') path = `M${left},${bottom}V${y(before(timeline.waiting, span.fromNs))}`;
  return { waiting: `${path}H${right}V${bottom}Z`, waitingMost: most };
}

function before(steps: readonly { atNs: number; count: number }[], atNs: number): number {
  return steps.filter((step) => step.atNs <= atNs).at(-1)?.count ?? 0;
}

const NARROWEST_NS = 1000;

/** A span around the same middle, `factor` times as long, within the whole. */
export function zoomed(span: Span, whole: Span, factor: number): Span {
  const length = Math.max(NARROWEST_NS, (span.toNs - span.fromNs) * factor);
  const middle = (span.fromNs + span.toNs) / 2;
  return clamped({ fromNs: middle - length / 2, toNs: middle + length / 2 }, whole);
}

/** A span of the same length, moved by a share of it, within the whole. */
export function moved(span: Span, whole: Span, share: number): Span {
  const by = (span.toNs - span.fromNs) * share;
  return clamped({ fromNs: span.fromNs + by, toNs: span.toNs + by }, whole);
}

/** Moves a span into the whole; one that is longer becomes the whole. */
export function clamped(span: Span, whole: Span): Span {
  const length = span.toNs - span.fromNs;
  if (length >= whole.toNs - whole.fromNs) return whole;
  const fromNs = Math.min(Math.max(span.fromNs, whole.fromNs), whole.toNs - length);
  return { fromNs, toNs: fromNs + length };
}
