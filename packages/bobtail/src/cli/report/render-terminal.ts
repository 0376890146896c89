/** A report as text for the terminal: the answer first, then where the time went and what to do. */
import type { Colors } from '../console';
import type { Breakdown, Culprit, Report } from '../json/report';
import { plain } from '../text/plain';
import { plainNear } from '../text/recorded-text';
import { alignRows, type Column, wrapWords } from '../text/table';
import { countOf, formatDuration, formatShare } from '../text/units';
import {
  advice,
  byRoute,
  culpritCounts,
  culpritName,
  culpritPlace,
  headline,
  impactOf,
  ioParts,
  noteLines,
  OVERLAP,
  overall,
  pauseCounts,
  pausePlace,
  pauseVictims,
  percentilesLine,
  tailIo,
  tailTitle,
  telling,
  trustParts,
} from './sentences';
import {
  CLUSTER_HEADER,
  clusterRows,
  PROCESS_HEADER,
  processRows,
  tellingClasses,
  type WorkClass,
  workRows,
  workShares,
} from './work-tables';

const ROUTES_SHOWN = 12;
const PROCESSES_SHOWN = 12;
const IO_SHOWN = 8;
const CULPRITS_SHOWN = 8;
const PAUSES_SHOWN = 5;
const VICTIMS_SHOWN = 5;

/** How to print. */
export interface Look {
  readonly colors: Colors;
  readonly width: number;
}

/** The whole report; `folder` is shown as where it came from. */
export function renderReport(report: Report, folder: string, look: Look): string {
  const { colors } = look;
  const sections = [
    [colors.bold(headline(report)), colors.dim(percentilesLine(report)), ...noteLines(report)],
    breakdownLines(report, look),
    workLines(report, look),
    processLines(report, look),
    clusterLines(report, look),
    ioLines(report, look),
    culpritLines(report, look),
    pauseLines(report, look),
    findingLines(report, look),
    [
      colors.dim(`${trustParts(report).join(' · ')}  ${folder}`.trim()),
      ...report.notes.map((note) => colors.dim(plainNear(note))),
    ],
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join('\n')}\n`)
    .join('\n');
}

/** A name, figures, a bar, and shares of the work classes in queue + exec. */
function columnsFor(figures: number, classes: number): Column[] {
  const right = (length: number) => Array.from({ length }, (): Column => ({ align: 'right' }));
  return [{ align: 'left', grow: true }, ...right(figures), { align: 'left' }, ...right(classes)];
}

function breakdownLines(report: Report, look: Look): string[] {
  const { colors } = look;
  const all = overall(report, 'tail');
  if (all === undefined) {
    return [];
  }
  const unattributed = report.breakdown.some((row) => row.unattributedNs > row.latencyNs * 0.005);
  const classes = tellingClasses(report.breakdown);
  const routes = byRoute(report, 'tail');
  const header = ['latency', 'io', 'queue', 'exec', ...(unattributed ? ['unattributed'] : [])];
  const work = ['│', ...classes.map(({ name }) => name)];
  const rows = [[colors.bold(tailTitle(report)), ...[...header, ...work].map(colors.dim)]];
  const add = (label: string, row: Breakdown) =>
    rows.push(breakdownRow(label, row, unattributed, classes));
  if (routes.length !== 1) {
    add('  all routes', all);
  }
  for (const row of routes.slice(0, ROUTES_SHOWN)) {
    add(`  ${plain(row.route)}`, row);
  }
  const rest = overall(report, 'nontail');
  if (rest !== undefined) {
    add('rest', rest);
  }
  const lines = alignRows(columnsFor(header.length, classes.length), rows, look.width);
  if (routes.length > ROUTES_SHOWN) {
    lines.splice(-1, 0, colors.dim(`  and ${countOf(routes.length - ROUTES_SHOWN, 'route')} more`));
  }
  return lines;
}

function breakdownRow(
  label: string,
  row: Breakdown,
  unattributed: boolean,
  classes: readonly WorkClass[],
): string[] {
  const parts = [row.ioNs, row.queueNs, row.execNs, ...(unattributed ? [row.unattributedNs] : [])];
  return [
    label,
    formatDuration(row.latencyNs),
    ...parts.map((partNs) => formatShare(partNs, row.latencyNs)),
    '│',
    ...workShares(row, classes),
  ];
}

const WORK_COLUMNS: readonly Column[] = [
  { align: 'left', grow: true },
  ...Array.from({ length: 4 }, (): Column => ({ align: 'right' })),
  { align: 'left' },
];

function workLines(report: Report, look: Look): string[] {
  const rows = workRows(report).map(([words = '', ...cells]) => [`  ${words}`, ...cells]);
  if (rows.length === 0) {
    return [];
  }
  const { bold, dim } = look.colors;
  const title = bold('what the loop thread did');
  const header = [title, '', dim('tail'), '', dim('rest'), dim('(% of queue+exec)')];
  return alignRows(WORK_COLUMNS, [header, ...rows], look.width);
}

function clusterLines(report: Report, look: Look): string[] {
  const rows = clusterRows(report).map((cells) => ['  % of latency', ...cells]);
  if (rows.length === 0) {
    return [];
  }
  const { bold, dim } = look.colors;
  const title = bold('tail of the cluster');
  const header = [title, ...CLUSTER_HEADER.map(dim)];
  const figures = CLUSTER_HEADER.map((): Column => ({ align: 'right' }));
  const columns: Column[] = [{ align: 'left', grow: true }, ...figures];
  return alignRows(columns, [header, ...rows], look.width);
}

function processLines(report: Report, look: Look): string[] {
  const { bold, dim } = look.colors;
  const classes = tellingClasses(report.processes.filter((row) => row.class === 'tail'));
  const figures = PROCESS_HEADER.length - 1;
  const rows = processRows(report, classes).map((cells) => [
    ...cells.slice(0, figures + 1).map((cell, index) => (index === 0 ? `  ${cell}` : cell)),
    '│',
    ...cells.slice(figures + 1),
  ]);
  if (rows.length === 0) {
    return [];
  }
  const names = [...PROCESS_HEADER.slice(1), '│', ...classes.map(({ name }) => name)];
  const header = [bold('tail by process'), ...names.map(dim)];
  const shown = [header, ...rows.slice(0, PROCESSES_SHOWN)];
  return [
    ...alignRows(columnsFor(figures, classes.length), shown, look.width),
    ...moreLine(rows.length - PROCESSES_SHOWN, 'process', look),
  ];
}

function ioLines(report: Report, look: Look): string[] {
  const shares = tailIo(report);
  const latencyNs = overall(report, 'tail')?.latencyNs ?? 0;
  if (shares.length === 0) {
    return [];
  }
  const rows = shares
    .slice(0, IO_SHOWN)
    .map((one) => [
      `  ${formatDuration(one.ioNs)}`,
      formatShare(one.ioNs, latencyNs),
      plainNear(one.resource),
      plain(one.kind),
      countOf(one.requests, 'request'),
      ioParts(one),
    ]);
  const columns: Column[] = [
    { align: 'right' },
    { align: 'right' },
    { align: 'left', grow: true },
    { align: 'left' },
    { align: 'right' },
    { align: 'left', grow: true },
  ];
  return [
    look.colors.bold('what the tail waited for'),
    ...alignRows(columns, rows, look.width),
    ...moreLine(shares.length - IO_SHOWN, 'resource', look),
  ];
}

function culpritLines(report: Report, look: Look): string[] {
  const { culprits, tail } = report;
  if (culprits.length === 0) {
    return [];
  }
  const rows = culprits
    .slice(0, CULPRITS_SHOWN)
    .map((culprit) => [
      `  ${formatDuration(culprit.inflictedNs / Math.max(1, tail.count))}`,
      culpritName(culprit),
      culpritType(culprit),
      plainNear(culpritPlace(culprit)),
      culpritCounts(culprit),
    ]);
  const columns: Column[] = [
    { align: 'right' },
    { align: 'left', grow: true },
    { align: 'left' },
    { align: 'left', grow: true },
    { align: 'left' },
  ];
  return [
    `${look.colors.bold('who made the tail wait')} ${look.colors.dim('(per tail request)')}`,
    ...alignRows(columns, rows, look.width),
    ...moreLine(culprits.length - CULPRITS_SHOWN, 'culprit', look),
  ];
}

/** Kind of a callback, or that it was in the pool. */
function culpritType({ kind, type }: Culprit): string {
  return kind === 'event' ? plain(type) : kind === 'job' ? 'in the pool' : '';
}

function pauseLines(report: Report, look: Look): string[] {
  const pauses = telling(report.pauses);
  if (pauses.length === 0) {
    return [];
  }
  const { bold, dim } = look.colors;
  const rows = pauses
    .slice(0, PAUSES_SHOWN)
    .map((pause) => [
      `  ${formatDuration(pause.durationNs)}`,
      plain(pause.kind),
      `at ${formatDuration(pause.startNs)}`,
      pausePlace(pause),
    ]);
  const columns: Column[] = [
    { align: 'right' },
    { align: 'left', grow: true },
    { align: 'right' },
    { align: 'left', grow: true },
  ];
  const aligned = alignRows(columns, rows, look.width);
  const lines = pauses.slice(0, PAUSES_SHOWN).flatMap((pause, index) => {
    const victims = `${pauseCounts(pause)}: ${pauseVictims(pause, VICTIMS_SHOWN)}`;
    return [aligned[index] ?? '', ...wrapWords(victims, look.width, '     ').map(dim)];
  });
  return [
    `${bold('longest collections')} ${dim('(and whom of the tail: explain --request)')}`,
    ...lines,
    ...moreLine(pauses.length - PAUSES_SHOWN, 'collection', look),
  ];
}

function moreLine(count: number, noun: string, look: Look): string[] {
  return count > 0 ? [look.colors.dim(`  and ${countOf(count, noun)} more: --json`)] : [];
}

function findingLines(report: Report, look: Look): string[] {
  const findings = advice(report);
  if (findings.length === 0) {
    return [];
  }
  const lines = findings.flatMap((finding, index) => [
    `  ${index + 1}  ${look.colors.bold(plainNear(finding.action))}`,
    ...wrapWords(plainNear(finding.sentence) + impactOf(finding), look.width, '     '),
  ]);
  return [`${look.colors.bold('what to do')} ${look.colors.dim(`(${OVERLAP})`)}`, ...lines];
}
