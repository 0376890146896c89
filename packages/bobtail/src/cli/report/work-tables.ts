/**
 * What the loop thread did, as tables of text for terminal and Markdown alike.
 *
 * These are the paper's tables 4 (tail against the rest) and 5 (a cluster). Shares of table 4 are
 * of queue + exec, as there, because a collection delays whoever waits as much as whom it
 * interrupts; those of table 5 are of the latency.
 */
import type { Report, TimeSpent, Work } from '../json/report';
import { formatCount, formatDuration, formatFineShare, formatShare } from '../text/units';
import { isNotAskedFor, overall } from './sentences';

/** A work class: its key, its name in a column, and what it is. */
export interface WorkClass {
  readonly key: keyof Work;
  readonly name: string;
  readonly words: string;
  /** What measures it, where that is an option. */
  readonly option?: string;
}

/** In the order in which they are shown. */
export const WORK_CLASSES: readonly WorkClass[] = [
  { key: 'nativeNs', name: 'native', words: 'native: application and Node' },
  { key: 'gcNs', name: 'gc', words: 'gc: garbage collection' },
  { key: 'jitNs', name: 'jit', words: 'jit: compilation' },
  { key: 'icNs', name: 'ic', words: 'ic: inline-cache misses' },
  { key: 'loopNs', name: 'loop', words: 'loop: in the kernel, between events' },
  {
    key: 'notRunningNs',
    name: 'not running',
    words: 'not running: descheduled, throttled',
    option: 'time not running',
  },
];

/** Of half a percent on, a class gets a column of its own; those always have one. */
const ALWAYS_TOLD = 2;
const WORTH_A_COLUMN = 0.005;

/** The classes that matter in some of the rows. */
export function tellingClasses(rows: readonly TimeSpent[]): WorkClass[] {
  return WORK_CLASSES.filter(
    ({ key }, index) =>
      index < ALWAYS_TOLD ||
      rows.some((row) => (row.work[key] ?? 0) >= wholeOf(row) * WORTH_A_COLUMN && wholeOf(row) > 0),
  );
}

/** Shares of some classes in queue + exec; `–` where not measured. */
export function workShares(row: TimeSpent, classes: readonly WorkClass[]): string[] {
  return classes.map(({ key }) => {
    const partNs = row.work[key];
    return partNs === null ? '–' : formatShare(partNs, wholeOf(row));
  });
}

function wholeOf(row: TimeSpent): number {
  return row.queueNs + row.execNs;
}

/**
 * Rows of table 4, of what was asked for: a class, then time per request and share, of the tail
 * and of the rest.
 */
export function workRows(report: Report): string[][] {
  const columns = [overall(report, 'tail'), overall(report, 'nontail')];
  if (columns[0] === undefined) {
    return [];
  }
  const asked = WORK_CLASSES.filter(
    ({ option }) => option === undefined || !isNotAskedFor(report, option),
  );
  return asked.map(({ key, words }) => [
    words,
    ...columns.flatMap((row) => {
      const partNs = row?.work[key] ?? null;
      return row === undefined || partNs === null
        ? ['–', '–']
        : [formatDuration(partNs), formatFineShare(partNs, wholeOf(row))];
    }),
  ]);
}

/** Header of table 5; `other` is what the paper has no column for. */
export const CLUSTER_HEADER: readonly string[] = [
  'processes',
  'requests',
  'latency',
  'io',
  'ic',
  'gc',
  'jit',
  'native',
  'other',
];

/** The row of table 5; none of a single process. */
export function clusterRows({ cluster }: Report): string[][] {
  if (cluster === null) {
    return [];
  }
  const { processes, count, latencyNs, ioNs, icNs, gcNs, jitNs, nativeNs, otherNs } = cluster;
  const parts = [ioNs, icNs, gcNs, jitNs, nativeNs, otherNs];
  const shares = parts.map((partNs) =>
    partNs === null ? '–' : formatFineShare(partNs, latencyNs),
  );
  return [[formatCount(processes), formatCount(count), formatDuration(latencyNs), ...shares]];
}

/** Header of the table of processes, which are what a cluster is made of. */
export const PROCESS_HEADER: readonly string[] = [
  'process',
  'requests',
  'of the tail',
  'latency',
  'io',
  'queue',
  'exec',
];

/** One row for each process; none when there is only one. */
export function processRows(report: Report, classes: readonly WorkClass[]): string[][] {
  const names = [...new Set(report.processes.map(nameOf))];
  if (names.length < 2) {
    return [];
  }
  return names.map((name) => {
    const rows = report.processes.filter((row) => nameOf(row) === name);
    const requests = rows.reduce((sum, row) => sum + row.count, 0);
    const tail = rows.find((row) => row.class === 'tail');
    const cells = [name, formatCount(requests)];
    if (tail === undefined) {
      return [...cells, '0 %', ...Array.from({ length: 4 + classes.length }, () => '–')];
    }
    return [
      ...cells,
      formatShare(tail.count, report.tail.count),
      formatDuration(tail.latencyNs),
      ...[tail.ioNs, tail.queueNs, tail.execNs].map((ns) => formatShare(ns, tail.latencyNs)),
      ...workShares(tail, classes),
    ];
  });
}

/** `4121-0`: the beginning of the ids of its requests. */
function nameOf(row: { readonly pid: number; readonly thread: number }): string {
  return `${row.pid}-${row.thread}`;
}
