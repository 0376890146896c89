/**
 * What the page is given (`spec/html.schema.json`): the report, sums that can be filtered, and
 * requests in full.
 *
 * Rows come as arrays in the order of the schema, to keep the file small; they are named here,
 * once, and requests only when they are looked at.
 */
import type { Finding, Report } from '../../../bobtail/src/cli/json/report';

/** About the file itself. */
export interface Meta {
  readonly version: string;
  /** Folder from which paths are told; empty for none. */
  readonly home: string;
  /** The recordings, as the user named them. */
  readonly folders: readonly string[];
}

/** One recorded event loop. */
export interface Process {
  readonly pid: number;
  readonly thread: number;
  readonly gc: boolean;
  readonly jit: boolean;
  readonly ic: boolean;
  readonly notRunning: boolean;
}

/** Latencies from here on reach the percentile. */
export interface Band {
  readonly percentile: number;
  readonly fromNs: number;
}

/** Sums over the requests of a process, a route and a band of latency. */
export interface Cell {
  readonly process: number;
  readonly route: number;
  /** How many of the borders the latency reaches. */
  readonly band: number;
  readonly count: number;
  readonly latencyNs: number;
  readonly ioNs: number;
  readonly queueNs: number;
  readonly execNs: number;
  readonly unattributedNs: number;
  readonly gcNs: number;
  readonly jitNs: number;
  readonly icNs: number;
  readonly loopNs: number;
  readonly notRunningNs: number;
}

/** The latencies of a process and route: steps from bucket to bucket and counts, alternating. */
export interface CurveRow {
  readonly process: number;
  readonly route: number;
  readonly steps: readonly number[];
}

/** Who made requests of the tail wait. */
export interface CulpritName {
  readonly kind: 'event' | 'gc' | 'loop' | 'cpu' | 'job';
  readonly route: string | null;
  readonly type: string;
  readonly location: string | null;
  /** Where it was in what ran, if `location` is in a source. */
  readonly generatedLocation: string | null;
}

/** What a culprit did to the tail requests of a process and of a route; null: of all routes. */
export interface Blame {
  readonly process: number;
  readonly route: number | null;
  readonly culprit: number;
  readonly inflictedNs: number;
  readonly victims: number;
  readonly occurrences: number;
  readonly longestNs: number;
}

/** Waits for a resource by the requests of a process, a route and a band of latency. */
export interface Wait {
  readonly process: number;
  readonly route: number;
  readonly band: number;
  readonly resource: string;
  readonly kind: string;
  readonly requests: number;
  readonly ioNs: number;
  readonly poolWaitNs: number;
  readonly poolRunNs: number;
  readonly sharedNs: number;
}

type Row = readonly unknown[];

/** The file's content. */
export interface PageJson {
  readonly schema: 'bobtail-html/1';
  readonly report: Report;
  readonly strings: readonly string[];
  readonly processes: readonly Process[];
  readonly bands: readonly Band[];
  readonly routes: readonly number[];
  readonly cells: readonly Row[];
  readonly curves: readonly Row[];
  readonly culprits: readonly Row[];
  readonly blame: readonly Row[];
  readonly waits: readonly Row[];
  readonly advice: readonly Row[];
  readonly requests: readonly Row[];
}

/** The same with names. */
export interface Page {
  readonly meta: Meta;
  readonly report: Report;
  readonly strings: readonly string[];
  readonly processes: readonly Process[];
  readonly bands: readonly Band[];
  /** Names; the first stands for all that are not told apart. */
  readonly routes: readonly string[];
  readonly cells: readonly Cell[];
  readonly curves: readonly CurveRow[];
  readonly culprits: readonly CulpritName[];
  readonly blame: readonly Blame[];
  readonly waits: readonly Wait[];
  /** By route: what to do about its part of the tail. */
  readonly advice: ReadonlyMap<number, readonly Finding[]>;
  readonly requests: readonly Row[];
}

const CELL: readonly (keyof Cell)[] = [
  'process',
  'route',
  'band',
  'count',
  'latencyNs',
  'ioNs',
  'queueNs',
  'execNs',
  'unattributedNs',
  'gcNs',
  'jitNs',
  'icNs',
  'loopNs',
  'notRunningNs',
];
const CURVE: readonly (keyof CurveRow)[] = ['process', 'route', 'steps'];
const BLAME: readonly (keyof Blame)[] = [
  'process',
  'route',
  'culprit',
  'inflictedNs',
  'victims',
  'occurrences',
  'longestNs',
];

const WAIT: readonly (keyof Wait)[] = [
  'process',
  'route',
  'band',
  'resource',
  'kind',
  'requests',
  'ioNs',
  'poolWaitNs',
  'poolRunNs',
  'sharedNs',
];

/** Gives a row its names. */
export function named<T>(names: readonly (keyof T)[], row: Row): T {
  return Object.fromEntries(names.map((name, index) => [name, row[index]])) as T;
}

/** Names all rows but those of the requests. */
export function openPage(text: string): Page {
  const { meta, page } = JSON.parse(text) as { meta: Meta; page: PageJson };
  const { report, strings, processes, bands, requests } = page;
  const textOf = (number: unknown): string | null => strings[number as number] || null;
  return {
    meta,
    report,
    strings,
    processes,
    bands,
    routes: page.routes.map((number) => strings[number] ?? ''),
    cells: page.cells.map((row) => named<Cell>(CELL, row)),
    curves: page.curves.map((row) => named<CurveRow>(CURVE, row)),
    culprits: page.culprits.map(([kind, route, type, location, generated]) => ({
      kind: (textOf(kind) ?? 'loop') as CulpritName['kind'],
      route: textOf(route),
      type: textOf(type) ?? '',
      location: textOf(location),
      generatedLocation: textOf(generated),
    })),
    blame: page.blame.map((row) => named<Blame>(BLAME, row)),
    waits: page.waits.map((row) => ({
      ...named<Wait>(WAIT, row),
      resource: textOf(row[3]) ?? '',
      kind: textOf(row[4]) ?? '',
    })),
    advice: new Map(
      page.advice.map(([route, findings]) => [route as number, findings as readonly Finding[]]),
    ),
    requests,
  };
}

/** `4121-0`: the beginning of the ids of its requests. */
export function processName({ pid, thread }: Pick<Process, 'pid' | 'thread'>): string {
  return `${pid}-${thread}`;
}
