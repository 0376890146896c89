/** What a difference says in words and rows, for terminal and Markdown alike. */
import type { Change, Diff, PercentileDiff, RouteDiff } from '../json/diff';
import { culpritName, culpritPlace } from '../report/sentences';
import { plain } from '../text/plain';
import { countOf, formatCount, formatDuration, formatPercentile } from '../text/units';

const ALL_ROUTES = '*';
/** Causes of what a request waited for; the others are what the loop thread did. */
const KINDS = new Set(['io', 'queue', 'exec', 'unattributed']);
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

/** The answer first: what moved, the highest percentile that did. */
export function headline(diff: Diff): string {
  const { percentiles, mean } = overall(diff);
  const told = percentiles.filter(({ latency }) => latency.verdict !== 'too-few');
  const first = told.find(({ latency }) => moved(latency));
  if (first !== undefined) {
    const { latency, percentile } = first;
    const way = latency.verdict === 'more' ? 'slower' : 'faster';
    const at = formatPercentile(percentile);
    return `B is ${way} at ${at}: ${changeWords(latency)}.${mainCause(first)}`;
  }
  if (moved(mean)) {
    const way = mean.verdict === 'more' ? 'slower' : 'faster';
    return `B is ${way} on average: ${changeWords(mean)}.`;
  }
  const names = told.map(({ percentile }) => formatPercentile(percentile)).reverse();
  return names.length === 0
    ? 'Not enough samples to compare the two.'
    : `No change beyond the noise at ${names.join(', ')}.`;
}

function changeWords(change: Change): string {
  const { aNs, bNs } = change;
  return `${duration(aNs)} to ${duration(bNs)}, ${deltaText(change)} ${intervalText(change)}`;
}

/** The cause that moved most in the way the latency did. */
function mainCause({ causes, latency }: PercentileDiff): string {
  const sign = latency.verdict === 'more' ? 1 : -1;
  const ranked = causes
    .filter((one) => moved(one) && (one.deltaNs ?? 0) * sign > 0)
    .sort((one, other) => Math.abs(other.deltaNs ?? 0) - Math.abs(one.deltaNs ?? 0));
  const kinds = ranked.filter(({ cause }) => KINDS.has(cause)).slice(0, 1);
  const work = ranked.filter(({ cause }) => !KINDS.has(cause)).slice(0, 1);
  const words = [...kinds, ...work].map((one) => `${causeName(one.cause)} ${deltaText(one)}`);
  return words.length === 0 ? '' : ` Of it ${words.join(', ')}.`;
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

function intervalText({ lowNs, highNs }: Change): string {
  return lowNs === null || highNs === null ? '' : `[${signed(lowNs)} – ${signed(highNs)}]`;
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
