/** What a difference says in words and rows, for terminal and Markdown alike. */
import type { CauseChange, Change, Diff, PercentileDiff, RouteDiff } from '../json/diff';
import { culpritName, culpritPlace } from '../report/sentences';
import { plain } from '../text/plain';
import { countOf, formatCount, formatDuration, formatPercentile } from '../text/units';

const ALL_ROUTES = '*';
/** Causes that latency consists of; the others are what queue and exec consist of. */
const KINDS = new Set(['io', 'queue', 'exec', 'unattributed']);
const LOOP_KINDS = new Set(['queue', 'exec']);
/** What whole nanoseconds of four kinds or six classes can miss their sum by. */
const ROUNDED_OFF_NS = 5;
const NOT_TOLD = '–';

/** The row over all routes. */
export function overall(diff: Diff): RouteDiff {
  const all = diff.routes.find((one) => one.route === ALL_ROUTES);
  if (all === undefined) {
    throw new TypeError('the analysis told no row over all routes');
  }
  return all;
}

/** Whether it moved beyond interval and noise. */
export function moved(change: Change): boolean {
  return change.verdict === 'more' || change.verdict === 'less';
}

/** The highest percentile that moved. */
function movedPercentile(diff: Diff): PercentileDiff | undefined {
  return overall(diff).percentiles.find(({ latency }) => moved(latency));
}

/** The answer first: what moved, the highest percentile that did. */
export function headline(diff: Diff): string {
  const { percentiles, mean } = overall(diff);
  const first = movedPercentile(diff);
  if (first !== undefined) {
    const { latency, percentile } = first;
    const way = latency.verdict === 'more' ? 'slower' : 'faster';
    return `B is ${way} at ${formatPercentile(percentile)}: ${changeWords(latency)}.`;
  }
  if (moved(mean)) {
    const way = mean.verdict === 'more' ? 'slower' : 'faster';
    return `B is ${way} on average: ${changeWords(mean)}.`;
  }
  const told = percentiles.filter(({ latency }) => latency.verdict !== 'too-few');
  const names = told.map(({ percentile }) => formatPercentile(percentile)).reverse();
  return names.length === 0
    ? 'Not enough samples to compare the two.'
    : `No change beyond the noise at ${names.join(', ')}.`;
}

function changeWords(change: Change): string {
  const { aNs, bNs } = change;
  const interval = intervalText(change, ', 95 %');
  return `${duration(aNs)} to ${duration(bNs)}, ${deltaText(change)} ${interval}`;
}

/**
 * What the percentile of the headline moved with: the causes of the requests beyond it.
 *
 * A percentile has no parts, the mean beyond it has: io, queue and exec sum to its change. The
 * classes of work split queue and exec once more, so they are told against these, on a line of
 * their own. Whatever is told here adds up to the sum told beside it.
 */
export function beyondLines(diff: Diff): string[] {
  const first = movedPercentile(diff);
  if (first === undefined) {
    return [];
  }
  const { beyond, causes, percentile } = first;
  const every = causes.filter(({ cause }) => KINDS.has(cause));
  if ([beyond, ...every].some(({ deltaNs }) => deltaNs === null)) {
    return [];
  }
  if (![beyond, ...every].some(moved)) {
    return [];
  }
  const kinds = byChange(every);
  const parts = kinds.map((one) => `${one.cause} ${partText(one)}`).join(', ');
  const classes = causes.filter((one) => !KINDS.has(one.cause) && moved(one));
  return [
    `The mean beyond ${formatPercentile(percentile)} changed by ${partText(beyond)}: ${parts}.`,
    ...(classes.length > 0 ? [classLine(kinds, byChange(classes))] : []),
  ];
}

/** The classes that moved and the others as one, of what queue and exec changed by. */
function classLine(kinds: readonly CauseChange[], classes: readonly CauseChange[]): string {
  const wholeNs = sumNs(kinds.filter(({ cause }) => LOOP_KINDS.has(cause)));
  const restNs = wholeNs - sumNs(classes);
  const parts = classes.map((one) => `${causeName(one.cause)} ${deltaText(one)}`);
  const rest = Math.abs(restNs) < ROUNDED_OFF_NS ? [] : [`the rest ${signed(restNs)}`];
  const whole = `Queue and exec together changed by ${signed(wholeNs)}`;
  return `${whole}, by class of work: ${[...parts, ...rest].join(', ')}.`;
}

/** Those that changed at all, the largest change first. */
function byChange(causes: readonly CauseChange[]): CauseChange[] {
  return causes
    .filter(({ deltaNs }) => deltaNs !== null && deltaNs !== 0)
    .sort((one, other) => Math.abs(other.deltaNs ?? 0) - Math.abs(one.deltaNs ?? 0));
}

function sumNs(causes: readonly CauseChange[]): number {
  return causes.reduce((sum, { deltaNs }) => sum + (deltaNs ?? 0), 0);
}

/** `+53.7 ms`, and whether that is within the noise. */
function partText(change: Change): string {
  return moved(change) ? deltaText(change) : `${deltaText(change)} (${VERDICTS[change.verdict]})`;
}

/** `notRunning` as people read it. */
export function causeName(cause: string): string {
  return cause === 'notRunning' ? 'not running' : cause;
}

function duration(ns: number | null): string {
  return ns === null ? NOT_TOLD : formatDuration(ns);
}

function signed(ns: number): string {
  const sign = ns < 0 ? '−' : '+';
  return ns === 0 ? '0' : `${sign}${formatDuration(Math.abs(ns))}`;
}

/** `+53.7 ms`. */
export function deltaText({ deltaNs }: Change): string {
  return deltaNs === null ? NOT_TOLD : signed(deltaNs);
}

/** Labelled where no head of a column says what it is. */
function intervalText({ lowNs, highNs }: Change, label = ''): string {
  return lowNs === null || highNs === null ? '' : `[${signed(lowNs)} – ${signed(highNs)}${label}]`;
}

const VERDICTS: Readonly<Record<Change['verdict'], string>> = {
  more: 'more',
  less: 'less',
  'within-noise': 'within noise',
  'too-few': 'not enough samples',
};

/** Header of the cells of a change. */
export const CHANGE_HEADER: readonly string[] = ['A', 'B', 'change', '95 % interval', 'noise', ''];

/** A change as cells. */
export function changeCells(change: Change): string[] {
  return [
    duration(change.aNs),
    duration(change.bNs),
    deltaText(change),
    intervalText(change),
    change.noiseNs === null ? '' : formatDuration(change.noiseNs),
    VERDICTS[change.verdict],
  ];
}

/** Rows of latencies: of all routes, then of each that is shown. */
export function latencyRows(route: RouteDiff): string[][] {
  const rows = [...route.percentiles].reverse().map(({ percentile, latency }) => {
    return [formatPercentile(percentile), ...changeCells(latency)];
  });
  return [['mean', ...changeCells(route.mean)], ...rows];
}

/** The percentile whose causes are shown: the highest that can be told. */
export function shownPercentile(route: RouteDiff): PercentileDiff | undefined {
  return route.percentiles.find(({ causes }) => causes.length > 0);
}

/** Causes with any time in them, of what was measured in both. */
export function causeRows({ causes, beyond }: PercentileDiff): string[][] {
  const rows = causes
    .filter(({ aNs, bNs }) => (aNs ?? 0) > 0 || (bNs ?? 0) > 0)
    .map((one) => [causeName(one.cause), ...changeCells(one)]);
  return [['latency', ...changeCells(beyond)], ...rows];
}

/** `the slowest 0.1 % of requests`. */
export function beyondTitle({ percentile }: PercentileDiff): string {
  return `the slowest ${Number((100 - percentile).toFixed(6))} % consist of`;
}

/** A culprit or a wait, by names. */
export interface TailChange {
  readonly name: string;
  readonly place: string;
  readonly change: Change;
}

/** Culprits and waits, moved or not, the largest change first. */
export function tailChanges(diff: Diff): TailChange[] {
  const culprits = diff.tail.culprits.map((one) => ({
    change: one,
    name: culpritName(one),
    place: plain(culpritPlace(one) || (one.kind === 'event' ? one.type : one.kind)),
  }));
  const waits = diff.tail.io.map((one) => ({
    change: one,
    name: plain(one.resource),
    place: plain(one.kind),
  }));
  return [...culprits, ...waits].sort(
    (a, b) => Math.abs(b.change.deltaNs ?? 0) - Math.abs(a.change.deltaNs ?? 0),
  );
}

/** Rows of those that moved. */
export function tailRows(diff: Diff): string[][] {
  return tailChanges(diff)
    .filter(({ change }) => moved(change))
    .map(({ name, place, change }) => [name, place, ...changeCells(change)]);
}

/** Why percentiles of all routes cannot be told. */
export function notes(diff: Diff): string[] {
  const found = overall(diff).percentiles.map(({ note }) => note);
  return [...new Set(found.filter((note) => note !== null))];
}

/** `A  12,624 requests in 25.0 s, Node 24  a.bobtail`. */
export function sideLine(name: 'A' | 'B', diff: Diff, folder: string): string {
  const side = name === 'A' ? diff.a : diff.b;
  const { recordedNs, node } = side.run;
  const versions = node.map((version) => version.replace(/^v/, '')).join(', ');
  const lost = Object.values(side.losses).reduce((sum, one) => sum + one, 0);
  const losses = lost === 0 ? '' : ` · ${formatCount(lost)} lost`;
  const requests = `${countOf(side.requests, 'request')} in ${formatDuration(recordedNs)}`;
  return plain(`${name}  ${requests} · node ${versions}${losses}  ${folder}`);
}

/** How sure all of it is. */
export function methodLine({ a, b }: Diff): string {
  const blocks = `${a.blocks} and ${b.blocks} blocks of time`;
  return `95 % intervals from ${blocks} · noise: what halves of one recording differ by`;
}
