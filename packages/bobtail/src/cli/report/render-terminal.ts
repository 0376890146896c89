/** A report as text for the terminal: the answer first, then where the time went and what to do. */
import type { Colors } from '../console';
import type { Breakdown, Report, Work } from '../json/report';
import { plain, plainNear } from '../text/recorded-text';
import { alignRows, type Column, wrapWords } from '../text/table';
import { countOf, formatDuration, formatShare } from '../text/units';
import {
  byRoute,
  culpritCounts,
  culpritName,
  culpritPlace,
  headline,
  impactOf,
  ioParts,
  overall,
  percentilesLine,
  tailIo,
  tailTitle,
  trustParts,
} from './sentences';

const ROUTES_SHOWN = 12;
const IO_SHOWN = 8;
const CULPRITS_SHOWN = 8;

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
    ioLines(report, look),
    culpritLines(report, look),
    findingLines(report, look),
    [colors.dim(`${trustParts(report).join(' · ')}  ${folder}`.trim())],
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join('\n')}\n`)
    .join('\n');
}

function noteLines(report: Report): string[] {
  return report.tail.note === null ? [] : [plain(report.tail.note)];
}

const BREAKDOWN_COLUMNS: readonly Column[] = [
  { align: 'left', grow: true },
  ...Array.from({ length: 5 }, (): Column => ({ align: 'right' })),
  { align: 'left' },
  ...Array.from({ length: 5 }, (): Column => ({ align: 'right' })),
  { align: 'left' },
];

function breakdownLines(report: Report, look: Look): string[] {
  const { colors } = look;
  const all = overall(report, 'tail');
  if (all === undefined) {
    return [];
  }
  const unattributed = report.breakdown.some((row) => row.unattributedNs > row.latencyNs * 0.005);
  const routes = byRoute(report, 'tail');
  const header = [tailTitle(report), 'latency', 'io', 'queue', 'exec'];
  const work = ['│', 'native', 'gc', 'jit', 'ic', 'loop', '(of queue+exec)'];
  const rows = [[...header, unattributed ? 'unattributed' : '', ...work].map(colors.dim)];
  rows[0]?.splice(0, 1, colors.bold(header[0] ?? ''));
  if (routes.length !== 1) {
    rows.push(breakdownRow('  all routes', all, unattributed));
  }
  for (const row of routes.slice(0, ROUTES_SHOWN)) {
    rows.push(breakdownRow(`  ${plain(row.route)}`, row, unattributed));
  }
  const rest = overall(report, 'nontail');
  if (rest !== undefined) {
    rows.push(breakdownRow('rest', rest, unattributed));
  }
  const columns = BREAKDOWN_COLUMNS.filter((_, index) => unattributed || index !== 5);
  const cells = rows.map((row) => row.filter((_, index) => unattributed || index !== 5));
  const lines = alignRows(columns, cells, look.width);
  if (routes.length > ROUTES_SHOWN) {
    lines.splice(-1, 0, colors.dim(`  and ${countOf(routes.length - ROUTES_SHOWN, 'route')} more`));
  }
  return lines;
}

function breakdownRow(label: string, row: Breakdown, unattributed: boolean): string[] {
  const share = (partNs: number): string => formatShare(partNs, row.latencyNs);
  return [
    label,
    formatDuration(row.latencyNs),
    share(row.ioNs),
    share(row.queueNs),
    share(row.execNs),
    unattributed ? share(row.unattributedNs) : '',
    '│',
    ...workShares(row.work, row.queueNs + row.execNs),
    '',
  ];
}

/** Shares of native, gc, jit, ic and the loop itself; `–` where not measured. */
export function workShares(work: Work, wholeNs: number): string[] {
  const parts = [work.nativeNs, work.gcNs, work.jitNs, work.icNs, work.loopNs];
  return parts.map((partNs) => (partNs === null ? '–' : formatShare(partNs, wholeNs)));
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
      culprit.kind === 'event' ? plain(culprit.type) : '',
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

function moreLine(count: number, noun: string, look: Look): string[] {
  return count > 0 ? [look.colors.dim(`  and ${countOf(count, noun)} more: --json`)] : [];
}

function findingLines(report: Report, look: Look): string[] {
  if (report.findings.length === 0) {
    return [];
  }
  const lines = report.findings.flatMap((finding, index) => [
    `  ${index + 1}  ${look.colors.bold(plainNear(finding.action))}`,
    ...wrapWords(plainNear(finding.sentence) + impactOf(finding), look.width, '     '),
  ]);
  return [look.colors.bold('what to do'), ...lines];
}
