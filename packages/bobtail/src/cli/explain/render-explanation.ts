/**
 * One request as text: its critical path from top to bottom, each queue segment followed by those
 * it waited behind.
 */
import type { Colors } from '../console';
import type { ExplainedEvent, Explanation, Segment, SegmentCulprit } from '../json/explanation';
import { jobWords, loopWords, notRunningWords } from '../report/sentences';
import { WORK_CLASSES } from '../report/work-tables';
import { plain } from '../text/plain';
import { plainNear } from '../text/recorded-text';
import { alignRows, type Column } from '../text/table';
import { countOf, formatDuration, formatShare } from '../text/units';

const CULPRITS_SHOWN = 5;
/** Before what was not observed. */
const DEDUCED = '~';
/** Begins the type of what is no event but the loop itself. */
const LOOP_PREFIX = 'loop ';
/** Begins the type of a job that had a thread of the pool. */
const JOB_PREFIX = 'job';
/** Begins the type of time in which the thread did not run. */
const CPU_PREFIX = 'cpu ';

/** How to print. */
export interface Look {
  readonly colors: Colors;
  readonly width: number;
  /** Also list the events. */
  readonly events: boolean;
}

/** The whole explanation. */
export function renderExplanation(explanation: Explanation, look: Look): string {
  const { colors } = look;
  const lines = [
    colors.bold(`${plain(explanation.route)}  ${formatDuration(explanation.latencyNs)}`),
    colors.dim(factsOf(explanation).join(' · ')),
    '',
    ...segmentLines(explanation, look),
  ];
  if (look.events) {
    lines.push('', ...eventLines(explanation.events, look));
  }
  if (explanation.notes.length > 0) {
    lines.push('', ...explanation.notes.map((note) => colors.dim(plainNear(note))));
  }
  return lines.join('\n');
}

function factsOf(explanation: Explanation): string[] {
  const facts = [`request ${explanation.id}`];
  if (explanation.status !== 0) {
    facts.push(`status ${explanation.status}`);
  }
  const { segments } = explanation;
  for (const kind of ['io', 'queue', 'exec', 'unattributed'] as const) {
    const sumNs = segments.reduce((sum, one) => sum + (one.kind === kind ? one.durationNs : 0), 0);
    if (sumNs > 0) {
      facts.push(`${kind} ${formatShare(sumNs, explanation.latencyNs)}`);
    }
  }
  if (explanation.truncated) {
    facts.push('truncated: part of its history was lost');
  } else if (!explanation.complete) {
    facts.push('incomplete');
  }
  if (explanation.inferredHops > 0) {
    facts.push(`${countOf(explanation.inferredHops, 'hop')} inferred`);
  }
  return facts;
}

const SEGMENT_COLUMNS: readonly Column[] = [
  { align: 'right' },
  { align: 'right' },
  { align: 'right' },
  { align: 'left' },
  { align: 'left' },
  { align: 'left', grow: true },
];

function segmentLines(explanation: Explanation, look: Look): string[] {
  const { colors } = look;
  const rows = [['at', 'took', '', 'kind', 'event', 'what'].map(colors.dim)];
  for (const segment of explanation.segments) {
    rows.push(segmentRow(segment, explanation.latencyNs, colors));
    rows.push(...workRows(segment, colors), ...culpritRows(segment, colors));
  }
  const lines = alignRows(SEGMENT_COLUMNS, rows, look.width);
  return [...lines, ...legendOf(explanation).map(colors.dim)];
}

/** What the marks mean, where there are any. */
function legendOf({ segments }: Explanation): string[] {
  const meanings: string[] = [];
  if (segments.some((segment) => !segment.exact)) {
    meanings.push(`${DEDUCED} before a time: not observed exactly`);
  }
  if (segments.some((segment) => segment.inferred)) {
    meanings.push(`${DEDUCED} before an event: the hop to it was deduced, not observed`);
  }
  return meanings.length === 0 ? [] : ['', meanings.join('; ')];
}

function segmentRow(segment: Segment, latencyNs: number, colors: Colors): string[] {
  return [
    formatDuration(segment.startNs),
    `${segment.exact ? '' : DEDUCED}${formatDuration(segment.durationNs)}`,
    formatShare(segment.durationNs, latencyNs),
    paintKind(segment.kind, colors),
    `${segment.inferred ? DEDUCED : ''}${plain(segment.type)}`,
    whatOf(segment),
  ];
}

function paintKind(kind: Segment['kind'], colors: Colors): string {
  switch (kind) {
    case 'io':
      return colors.cyan(kind);
    case 'queue':
      return colors.red(kind);
    case 'exec':
      return colors.green(kind);
    case 'unattributed':
      return colors.yellow(kind);
  }
}

function whatOf(segment: Segment): string {
  const parts: string[] = [];
  if (segment.resource !== null) {
    parts.push(plainNear(segment.resource));
  }
  if (segment.part !== null) {
    parts.push(segment.part === 'pool-wait' ? 'waiting for a pool thread' : 'running in the pool');
  }
  if (segment.shared) {
    parts.push("another request's work");
  }
  if (segment.kind === 'unattributed') {
    parts.push('not accounted for by the record');
  }
  return parts.join(', ');
}

/** Only what is there: `native 3.20 ms, gc 4.10 ms`; nothing where it is all native. */
function workRows({ work }: Segment, colors: Colors): string[][] {
  const parts = WORK_CLASSES.filter(({ key }) => (work[key] ?? 0) > 0);
  if (parts.every(({ key }) => key === 'nativeNs')) {
    return [];
  }
  const words = parts.map(({ key, name }) => `${name} ${formatDuration(work[key] ?? 0)}`);
  return [['', '', '', '  work', '', words.join(', ')].map(colors.dim)];
}

/** The longest ones in the order of time, the others summed up. */
function culpritRows(segment: Segment, colors: Colors): string[][] {
  const longestFirst = [...segment.culprits].sort((a, b) => b.durationNs - a.durationNs);
  const labels = { exec: '  paused by', io: '  had a thread', queue: '  behind', unattributed: '' };
  const label = labels[segment.kind];
  const shown = new Set(longestFirst.slice(0, CULPRITS_SHOWN));
  const rows = segment.culprits
    .filter((culprit) => shown.has(culprit))
    .map((one) => culpritRow(one.durationNs, label, typeOf(one), whoOf(one), colors));
  const others = longestFirst.slice(CULPRITS_SHOWN);
  if (others.length > 0) {
    const sumNs = others.reduce((sum, one) => sum + one.durationNs, 0);
    rows.push(culpritRow(sumNs, label, '', `${others.length} more`, colors));
  }
  return rows;
}

function typeOf({ type }: SegmentCulprit): string {
  if (type.startsWith(CPU_PREFIX)) {
    return 'not running';
  }
  if (isJob(type)) {
    return 'job';
  }
  return type.startsWith(LOOP_PREFIX) ? 'event loop' : plain(type);
}

function isJob(type: string): boolean {
  return type === JOB_PREFIX || type.startsWith(`${JOB_PREFIX} `);
}

function whoOf({ type, route, location, pause }: SegmentCulprit): string {
  if (type.startsWith(CPU_PREFIX)) {
    return notRunningWords(type.slice(CPU_PREFIX.length));
  }
  if (pause !== null) {
    const during = route === null ? '' : ` in ${route}`;
    const by = location === null ? '' : `, asked for in ${location}`;
    return `pause ${pause.number} of ${formatDuration(pause.durationNs)}${during}${by}`;
  }
  if (isJob(type)) {
    const what = jobWords(type.slice(JOB_PREFIX.length).trim(), location);
    return [route ?? 'no request', what].filter((text) => text !== '').join('  ');
  }
  if (type.startsWith(LOOP_PREFIX)) {
    return loopWords(type.slice(LOOP_PREFIX.length));
  }
  return [route ?? '', location ?? ''].filter((text) => text !== '').join('  ');
}

function culpritRow(
  durationNs: number,
  label: string,
  type: string,
  who: string,
  colors: Colors,
): string[] {
  const cells = ['', formatDuration(durationNs), '', label, type, plainNear(who)];
  return cells.map((cell) => (cell === '' ? '' : colors.dim(cell)));
}

const EVENT_COLUMNS: readonly Column[] = [
  { align: 'left' },
  { align: 'right' },
  { align: 'left' },
  { align: 'right' },
  { align: 'right' },
  { align: 'right' },
  { align: 'right' },
  { align: 'right' },
  { align: 'right' },
  { align: 'left', grow: true },
  { align: 'left', grow: true },
];

function eventLines(events: readonly ExplainedEvent[], look: Look): string[] {
  const header = [
    '',
    'event',
    'type',
    'from',
    'in',
    'register',
    'ready',
    'begin',
    'end',
    'request',
    'where',
  ];
  const rows = events.map((event) => [
    event.onPath ? '●' : ' ',
    String(event.id),
    plain(event.type),
    event.registrar === 0 ? '' : String(event.registrar),
    event.loopEvent === 0 || event.loopEvent === event.id ? '' : String(event.loopEvent),
    formatTime(event.registerNs),
    formatTime(event.readyNs, event.readyQuality),
    formatTime(event.beginNs),
    formatTime(event.endNs),
    plain(event.route ?? ''),
    plainNear([event.resource, event.location].filter((text) => text !== null).join('  ')),
  ]);
  const lines = alignRows(EVENT_COLUMNS, [header.map(look.colors.dim), ...rows], look.width);
  return [look.colors.bold(`events (${events.length}, ● on the critical path)`), ...lines];
}

function formatTime(timeNs: number | null, quality: ExplainedEvent['readyQuality'] = null): string {
  if (timeNs === null) {
    return '?';
  }
  const mark = quality === 'bound' ? '≤' : quality === 'estimate' ? '~' : '';
  return `${mark}${timeNs < 0 ? '-' : ''}${formatDuration(Math.abs(timeNs))}`;
}
