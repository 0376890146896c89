/**
 * A request in full, from its row: as `explain --json`, with what the loop and the pool did around.
 */
import type {
  ExplainedEvent,
  Segment,
  SegmentCulprit,
} from '../../../bobtail/src/cli/json/explanation';
import type { Work } from '../../../bobtail/src/cli/json/report';
import type { Page } from './page';

/** The loop thread did one thing, or several short ones of which this was the longest. */
export interface Run {
  readonly beginNs: number;
  readonly durationNs: number;
  /** Kind of callback; `poll`, `other`, `lost`. */
  readonly type: string;
  readonly event: number;
  readonly request: number;
  readonly route: string | null;
  readonly location: string | null;
  /** How many more are in it. */
  readonly merged: number;
}

/** What took the thread from its code. */
export interface Interruption {
  readonly beginNs: number;
  readonly durationNs: number;
  readonly class: 'gc' | 'jit' | 'ic' | 'cpu';
  readonly type: string;
  /** Of the duration, in that class. */
  readonly spentNs: number;
}

/** A job of the thread pool. */
export interface Job {
  readonly submitNs: number | null;
  readonly beginNs: number;
  readonly durationNs: number;
  readonly event: number;
  readonly request: number;
  readonly route: string | null;
  readonly resource: string | null;
}

/** What happened around a request, whoever for. */
export interface Timeline {
  readonly fromNs: number;
  readonly toNs: number;
  readonly runs: readonly Run[];
  readonly interruptions: readonly Interruption[];
  readonly jobs: readonly Job[];
  /** From each moment on, so many ready events waited. */
  readonly waiting: readonly { readonly atNs: number; readonly count: number }[];
}

/** What a list needs. */
export interface Brief {
  readonly id: string;
  readonly process: number;
  readonly route: number;
  readonly name: string;
  readonly latencyNs: number;
  readonly status: number;
  readonly truncated: boolean;
  readonly inferredHops: number;
  /** 1 the slowest; 0 an example that is not among the slowest. */
  readonly rank: number;
}

/** A segment, with the whole pauses behind parts of it. */
export type ShownSegment = Segment;

/** All of a request. */
export interface Request extends Brief {
  readonly segments: readonly ShownSegment[];
  readonly events: readonly ExplainedEvent[];
  readonly timeline: Timeline;
}

type Row = readonly unknown[];
type Strings = readonly string[];

const SEGMENTS = 9;
const EVENTS = 10;
const TIMELINE = 11;

/** Whether a request can have this id: `<pid>-<thread>:<number>`. */
export function isRequestId(text: string): boolean {
  return /^\d{1,10}-\d{1,10}:\d{1,10}$/.test(text);
}

/** The beginning of a row. */
export function briefOf(page: Page, row: Row): Brief {
  const [id, process, route, name, latencyNs, status, truncated, inferredHops, rank] = row;
  return {
    id: id as string,
    process: process as number,
    route: route as number,
    name: page.strings[name as number] ?? '',
    latencyNs: latencyNs as number,
    status: status as number,
    truncated: truncated as boolean,
    inferredHops: inferredHops as number,
    rank: rank as number,
  };
}

/** Time of each kind on the path, and of each work class; all that a list shows. */
export function kindSums(page: Page, row: Row): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [kind, , durationNs] of row[SEGMENTS] as Row[]) {
    const name = page.strings[kind as number] ?? '';
    sums[name] = (sums[name] ?? 0) + (durationNs as number);
  }
  return sums;
}

/** The whole row. */
export function requestOf(page: Page, row: Row): Request {
  const { strings } = page;
  return {
    ...briefOf(page, row),
    segments: (row[SEGMENTS] as Row[]).map((one) => segmentOf(strings, one)),
    events: (row[EVENTS] as Row[]).map((one) => eventOf(strings, one)),
    timeline: timelineOf(strings, row[TIMELINE] as Row),
  };
}

function textOf(strings: Strings, number: unknown): string | null {
  return strings[number as number] || null;
}

function segmentOf(strings: Strings, row: Row): ShownSegment {
  const [kind, startNs, durationNs, event, type, resource, part, shared, exact, inferred] = row;
  const [nativeNs, gcNs, jitNs, icNs, loopNs, notRunningNs] = row[10] as (number | null)[];
  return {
    kind: textOf(strings, kind) as Segment['kind'],
    startNs: startNs as number,
    durationNs: durationNs as number,
    event: event as number,
    type: textOf(strings, type) ?? '',
    resource: textOf(strings, resource),
    part: textOf(strings, part) as Segment['part'],
    shared: shared as boolean,
    exact: exact as boolean,
    inferred: inferred as boolean,
    work: { nativeNs, gcNs, jitNs, icNs, loopNs, notRunningNs } as Work,
    culprits: (row[11] as Row[]).map((one) => culpritOf(strings, one)),
  };
}

function culpritOf(strings: Strings, row: Row): SegmentCulprit {
  const [event, route, type, location, generated, durationNs, pause] = row;
  const [startNs, pauseNs] = (pause ?? []) as [number?, number?];
  return {
    event: event as number,
    route: textOf(strings, route),
    type: textOf(strings, type) ?? '',
    location: textOf(strings, location),
    generatedLocation: textOf(strings, generated),
    durationNs: durationNs as number,
    pause:
      startNs === undefined || pauseNs === undefined
        ? null
        : { number: 0, startNs, durationNs: pauseNs },
  };
}

function eventOf(strings: Strings, row: Row): ExplainedEvent {
  const [id, type, registrar, loopEvent, request, route, registerNs, readyNs, quality] = row;
  const [beginNs, endNs, location, generated, resource, onPath] = row.slice(9);
  return {
    id: id as number,
    type: textOf(strings, type) ?? '',
    registrar: registrar as number,
    loopEvent: loopEvent as number,
    request: request as number,
    route: textOf(strings, route),
    registerNs: registerNs as number | null,
    readyNs: readyNs as number | null,
    readyQuality: textOf(strings, quality) as ExplainedEvent['readyQuality'],
    beginNs: beginNs as number | null,
    endNs: endNs as number | null,
    location: textOf(strings, location),
    generatedLocation: textOf(strings, generated),
    resource: textOf(strings, resource),
    onPath: onPath as boolean,
  };
}

function timelineOf(strings: Strings, row: Row): Timeline {
  const [fromNs, toNs, runs, interruptions, jobs, waiting] = row;
  const steps = waiting as number[];
  return {
    fromNs: fromNs as number,
    toNs: toNs as number,
    runs: (runs as Row[]).map(
      ([begin, duration, type, event, request, route, location, merged]) => ({
        beginNs: begin as number,
        durationNs: duration as number,
        type: textOf(strings, type) ?? '',
        event: event as number,
        request: request as number,
        route: textOf(strings, route),
        location: textOf(strings, location),
        merged: merged as number,
      }),
    ),
    interruptions: (interruptions as Row[]).map(([begin, duration, cls, type, spent]) => ({
      beginNs: begin as number,
      durationNs: duration as number,
      class: textOf(strings, cls) as Interruption['class'],
      type: textOf(strings, type) ?? '',
      spentNs: spent as number,
    })),
    jobs: (jobs as Row[]).map(([submit, begin, duration, event, request, route, resource]) => ({
      submitNs: submit as number | null,
      beginNs: begin as number,
      durationNs: duration as number,
      event: event as number,
      request: request as number,
      route: textOf(strings, route),
      resource: textOf(strings, resource),
    })),
    waiting: Array.from({ length: steps.length / 2 }, (_, i) => ({
      atNs: steps[2 * i] ?? 0,
      count: steps[2 * i + 1] ?? 0,
    })),
  };
}
