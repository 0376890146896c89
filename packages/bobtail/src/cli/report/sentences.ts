/**
 * What a report says in words, for terminal and Markdown alike.
 *
 * Each function states facts of the report and paints nothing, so that both outputs and their tests
 * share the wording.
 */
import type { Breakdown, Culprit, Finding, IoShare, Pause, Report } from '../json/report';
import { plain } from '../text/plain';
import {
  countOf,
  formatCount,
  formatDuration,
  formatInterval,
  formatPercentile,
  formatShare,
} from '../text/units';

const ALL_ROUTES = '*';
const NOT_RUNNING = 'not running';
/** The probe's reason where a mechanism is an option that was not given: no fault of the host. */
const NOT_ASKED_FOR = /^(?:in \d+ of \d+ processes: )?not asked for/;
const NOWHERE_ASKED_FOR = /^not asked for/;

/** The answer first: how slow the tail is and what it mostly consists of. */
export function headline(report: Report): string {
  const { percentilesNs, confidenceNs, meanNs, count } = report.requests;
  const name = String(report.tail.percentile);
  const valueNs = percentilesNs[name];
  const tail = overall(report, 'tail');
  if (valueNs === undefined) {
    const mean = `the mean of ${countOf(count, 'request')} is ${formatDuration(meanNs)}`;
    return `Too few requests for a percentile; ${mean}.${mainShare(tail, 'the tail')}`;
  }
  const medianNs = percentilesNs['50'];
  const value = `${formatPercentile(name)} ${formatInterval(valueNs, confidenceNs[name])}`;
  const ratio =
    medianNs === undefined || medianNs === 0 || name === '50'
      ? ''
      : ` is ${formatRatio(valueNs / medianNs)} the median (${formatDuration(medianNs)})`;
  return `${value}${ratio}.${mainShare(tail, 'it')}`;
}

function formatRatio(ratio: number): string {
  return `${ratio < 9.95 ? ratio.toFixed(1) : Math.round(ratio)}×`;
}

function mainShare(row: Breakdown | undefined, of: 'it' | 'the tail'): string {
  if (row === undefined || row.latencyNs === 0) {
    return '';
  }
  const kinds: readonly (readonly [number, string])[] = [
    [row.queueNs, 'is queueing behind others'],
    [row.ioNs, 'is waiting for I/O'],
    [row.execNs, 'is running its own code'],
    [row.unattributedNs, 'is not accounted for'],
  ];
  const [largestNs, words] = kinds.reduce((best, one) => (one[0] > best[0] ? one : best));
  return ` ${formatShare(largestNs, row.latencyNs)} of ${of} ${words}${mainWork(row)}.`;
}

/** A class from which most of the tail's latency is told with the headline. */
const MOST = 0.5;

/** What the loop did for most of the latency, unless that is to run the application. */
function mainWork({ latencyNs, work }: Breakdown): string {
  const classes: readonly (readonly [number | null, string])[] = [
    [work.notRunningNs, 'the loop thread got no processor'],
    [work.gcNs, 'V8 collected garbage'],
    [work.jitNs, 'V8 compiled'],
    [work.icNs, 'V8 handled inline-cache misses'],
  ];
  const main = classes.find(([ns]) => (ns ?? 0) >= MOST * latencyNs);
  return main === undefined ? '' : `; for ${formatShare(main[0] ?? 0, latencyNs)} of it ${main[1]}`;
}

/** `p50 1.84 ms · p90 … · mean … · 11,874 requests in 30.0 s`. */
export function percentilesLine(report: Report): string {
  const { percentilesNs, meanNs, count, warmup, unfinished, straddling } = report.requests;
  const { durationNs, recordedNs } = report.run;
  const names = Object.keys(percentilesNs).sort((a, b) => Number(a) - Number(b));
  const parts = names.map(
    (name) => `${formatPercentile(name)} ${formatDuration(percentilesNs[name] ?? 0)}`,
  );
  parts.push(`mean ${formatDuration(meanNs)}`);
  parts.push(`${countOf(count, 'request')} in ${formatDuration(recordedNs)}`);
  if (recordedNs < durationNs) {
    const share = formatShare(recordedNs, durationNs);
    parts.push(`recorded ${share} of ${formatDuration(durationNs)}`);
  }
  if (warmup > 0) {
    parts.push(`${formatCount(warmup)} left out as warm-up`);
  }
  if (unfinished > 0) {
    parts.push(`${formatCount(unfinished)} unfinished`);
  }
  if (straddling > 0) {
    parts.push(`${formatCount(straddling)} across a pause`);
  }
  return parts.join(' · ');
}

/** Nobody noted how the service ended. */
const NOT_ENDED =
  'still being recorded, or the recorder was killed: all figures are of what was recorded so far';

/**
 * What to know of the requests before the figures: the recording is not at its end, the percentile
 * that was asked for is not told, responses were cut off, a recording ended early.
 */
export function noteLines(report: Report): string[] {
  const { count, cutOff } = report.requests;
  const notes = report.run.outcome === null ? [NOT_ENDED] : [];
  if (report.tail.note !== null) {
    notes.push(plain(report.tail.note));
  }
  if (cutOff > 0) {
    const of = `${formatCount(cutOff)} of ${countOf(count, 'request')}`;
    notes.push(`${of} cut off: the connection was closed before the whole response had left`);
  }
  return [...notes, ...endedNotes(report)];
}

const ENDED_TOLD = 3;
const END_REASONS = {
  'event-numbers': 'the numbers of events are used up',
  'disk-full': 'the disk is full',
  paused: 'in the pause between two bursts',
};

/** `recording of 4130-0 ended after 58.0 s (the disk is full)`. */
function endedNotes(report: Report): string[] {
  const notes = report.run.processes.flatMap(({ pid, thread, ended }) =>
    ended === null
      ? []
      : `${pid}-${thread} ended after ${formatDuration(ended.atNs)} (${END_REASONS[ended.reason]})`,
  );
  if (notes.length === 0) {
    return [];
  }
  const more = notes.length - ENDED_TOLD;
  const told = notes.slice(0, ENDED_TOLD).join(', ');
  return [`recording of ${told}${more > 0 ? ` and ${formatCount(more)} more` : ''}`];
}

/** `tail (12 requests ≥ 48.2 ms)`. */
export function tailTitle(report: Report): string {
  const { count, thresholdNs } = report.tail;
  return `tail (${countOf(count, 'request')} ≥ ${formatDuration(thresholdNs)})`;
}

/** The row over all routes. */
export function overall(report: Report, cls: Breakdown['class']): Breakdown | undefined {
  return report.breakdown.find((row) => row.class === cls && row.route === ALL_ROUTES);
}

/** Rows of single routes. */
export function byRoute(report: Report, cls: Breakdown['class']): Breakdown[] {
  return report.breakdown.filter((row) => row.class === cls && row.route !== ALL_ROUTES);
}

/** What the tail waited for, longest first. */
export function tailIo(report: Report): IoShare[] {
  return withConnectionQueues(report.io.filter((one) => one.class === 'tail' && one.ioNs > 0));
}

/** Waiting in the queue of an agent or a pool of connections. */
const AGENT = 'agent';

/**
 * Waits, longest first, with all of a queue for a connection in one row: whoever is in it waits for
 * the answers to the requests before, which the recording has as reads that others had started.
 */
export function withConnectionQueues(rows: readonly IoShare[]): IoShare[] {
  const queued = new Set(rows.filter(({ kind }) => kind === AGENT).map(({ resource }) => resource));
  const sharedNs = (resource: string): number =>
    rows.find((one) => one.resource === resource && isBefore(one))?.sharedNs ?? 0;
  const isBefore = ({ kind, resource }: IoShare): boolean =>
    kind === 'read' && queued.has(resource);
  const moved = rows.map((row) => {
    if (row.kind === AGENT) return { ...row, ioNs: row.ioNs + sharedNs(row.resource), sharedNs: 0 };
    return isBefore(row) ? { ...row, ioNs: row.ioNs - row.sharedNs, sharedNs: 0 } : row;
  });
  return moved.filter(({ ioNs }) => ioNs > 0).sort((a, b) => b.ioNs - a.ioNs);
}

/** `of it 1.2 ms for a pool thread, 3.4 ms running in the pool`. */
export function ioParts(share: IoShare): string {
  const parts: string[] = share.ownService ? ['this service itself'] : [];
  if (share.kind === AGENT) {
    parts.push('until a connection to it was free');
  }
  if (share.poolWaitNs > 0) {
    parts.push(`${formatDuration(share.poolWaitNs)} for a pool thread`);
  }
  if (share.poolRunNs > 0 && share.poolWaitNs > 0) {
    parts.push(`${formatDuration(share.poolRunNs)} running in it`);
  }
  if (share.sharedNs > 0) {
    parts.push(`${formatDuration(share.sharedNs)} on another request's work`);
  }
  return parts.join(', ');
}

/** What is enough to name a culprit. */
export type CulpritNames = Pick<Culprit, 'kind' | 'route' | 'type' | 'location'>;

/** Who it was: `GET /export`, `mark-compact`, `event loop`, `not running`. */
export function culpritName(culprit: CulpritNames): string {
  switch (culprit.kind) {
    case 'gc':
      return plain(culprit.type) + (culprit.route === null ? '' : ` in ${plain(culprit.route)}`);
    case 'cpu':
      return NOT_RUNNING;
    case 'loop':
      return plain(culprit.route ?? 'event loop');
    case 'event':
    case 'job':
      return plain(culprit.route ?? 'no request');
  }
}

/**
 * Where it was, as far as there is a place: code for callbacks and for collections that were asked
 * for, what a job worked on and where it was started.
 */
export function culpritPlace(culprit: CulpritNames): string {
  switch (culprit.kind) {
    case 'loop':
      return loopWords(culprit.type);
    case 'cpu':
      return notRunningWords(culprit.type);
    case 'job':
      return jobWords(culprit.type, culprit.location);
    default:
      return culprit.location ?? '';
  }
}

/** `fs.read /data/a.json, started in load app.js:7:3`. */
export function jobWords(type: string, location: string | null): string {
  return location === null ? plain(type) : `${plain(type)}, started in ${location}`;
}

/** Why a thread that could run did not. */
export function notRunningWords(type: string): string {
  return type === 'preempted' ? 'descheduled or throttled' : 'cause unknown';
}

/** What the loop did when it ran nobody's code. */
export function loopWords(type: string): string {
  switch (type) {
    case 'poll':
      return 'waiting in the kernel';
    case 'other':
      return 'between events';
    case 'lost':
      return 'history lost';
    default:
      return plain(type);
  }
}

/**
 * `214 times, 12 requests waited, up to 62.0 ms at once`; the loop itself and not running have no
 * events to count. How long one held the loop is not told: it may have begun before a waiter came.
 */
export function culpritCounts(culprit: Culprit): string {
  const { victims, occurrences, longestNs } = culprit;
  const most = `up to ${formatDuration(longestNs)} at once`;
  const waited = `${countOf(victims, 'request')} waited, ${most}`;
  if (culprit.kind === 'loop' || culprit.kind === 'cpu') {
    return waited;
  }
  const many = { gc: 'pauses', job: 'jobs', event: 'times' }[culprit.kind];
  const times = occurrences === 1 ? 'once' : `${formatCount(occurrences)} ${many}`;
  return `${times}, ${waited}`;
}

/** The longest collections that delayed the tail. */
export function telling(pauses: readonly Pause[]): Pause[] {
  return pauses.filter((pause) => pause.tailVictims > 0);
}

/** What a collection interrupted: `GET /export promise`, `event loop waiting in the kernel`. */
export function pausePlace({ inside }: Pause): string {
  if (inside === null) {
    return '';
  }
  const name = plain(inside.route ?? (inside.kind === 'loop' ? 'event loop' : 'no request'));
  return `${name} ${inside.kind === 'loop' ? loopWords(inside.type) : plain(inside.type)}`;
}

/** `12 requests waited 210 ms in all, 3 of the tail`. */
export function pauseCounts({ victims, tailVictims, inflictedNs }: Pause): string {
  const waited = `${countOf(victims, 'request')} waited ${formatDuration(inflictedNs)} in all`;
  return `${waited}, ${formatCount(tailVictims)} of the tail`;
}

/** The ids of those of the tail among its first few victims, for `bobtail explain --request`. */
export function pauseVictims({ requests, tailVictims }: Pause, count: number): string {
  const named = requests.filter((one) => one.class === 'tail').slice(0, count);
  const more = tailVictims - named.length;
  return named.map((one) => one.id).join(' ') + (more > 0 ? ` and ${formatCount(more)} more` : '');
}

/** Beside the findings: the same time may be told as a queue, as a collection and as a culprit. */
export const OVERLAP = 'the shares overlap, for they cut the same time in several ways';

/** What to do; that a percentile is not told stands among the notes. */
export function advice(report: Report): Finding[] {
  return report.findings.filter(({ code }) => code !== 'too-few-requests');
}

/** ` (31.0 ms per tail request)`; nothing for findings about the recording itself. */
export function impactOf(finding: Finding): string {
  return finding.impactNs === 0 ? '' : ` (${formatDuration(finding.impactNs)} per tail request)`;
}

/** Whether a mechanism is off only because no one asked for it, by its reason. */
export function isNotAsked(reason: string): boolean {
  return NOT_ASKED_FOR.test(reason);
}

/** Whether no process was asked to measure this. */
export function isNotAskedFor(report: Report, mechanism: string): boolean {
  return report.unavailable.some(
    (one) => one.mechanism === mechanism && NOWHERE_ASKED_FOR.test(one.reason),
  );
}

/**
 * How far the report can be trusted: accounted for, inferred, truncated, lost, not available.
 * Accounted for is what has a segment, which is not to say that its cause is known.
 */
export function trustParts(report: Report): string[] {
  const parts: string[] = [];
  const row = overall(report, 'tail');
  const lost = Object.entries(report.losses).filter(([, count]) => count > 0);
  if (row !== undefined && row.latencyNs > 0) {
    const accounted = (1 - row.unattributedNs / row.latencyNs) * 100;
    // Rounded down: 100 % must mean everything.
    const time = lost.length > 0 ? 'recorded time' : 'time';
    const share = (Math.floor(accounted * 10) / 10).toFixed(1);
    parts.push(`accounted for ${share} % of the tail's ${time}`);
  }
  const { inferred, truncated } = report.requests;
  if (inferred > 0) {
    parts.push(`${countOf(inferred, 'request')} with inferred hops`);
  }
  if (truncated > 0) {
    parts.push(`${countOf(truncated, 'request')} truncated`);
  }
  if (lost.length > 0) {
    parts.push(`lost: ${lost.map(([word, count]) => `${formatCount(count)} ${word}`).join(', ')}`);
  }
  if (report.run.detail === 'loop') {
    parts.push('recorded with --detail loop');
  }
  const missing = report.unavailable.filter(({ reason }) => !isNotAsked(reason));
  if (missing.length > 0) {
    const names = missing.map((one) => plain(one.mechanism));
    parts.push(`unavailable here: ${names.join(', ')}`);
  }
  return parts;
}
