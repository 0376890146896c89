/** A report as Markdown, short enough for a pull request comment. */
import type { Breakdown, Report } from '../json/report';
import { markdownCell } from '../text/recorded-text';
import { formatDuration, formatShare } from '../text/units';
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

const ROWS_SHOWN = 10;
const PAUSES_SHOWN = 5;
const VICTIMS_SHOWN = 5;

/** The whole report. */
export function renderMarkdown(report: Report): string {
  const sections = [
    `**${headline(report)}**`,
    percentilesLine(report),
    noteLines(report).map(markdownCell).join('\n'),
    breakdownTable(report),
    workTable(report),
    processTable(report),
    clusterTable(report),
    ioTable(report),
    culpritTable(report),
    pauseTable(report),
    findingList(report),
    `<sub>${[...trustParts(report), ...report.notes].map(markdownCell).join(' · ')}</sub>`,
  ];
  return sections.filter((section) => section !== '').join('\n\n');
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) {
    return '';
  }
  const ruler = header.map((_, index) => (index === 0 ? '---' : '---:'));
  return [header, ruler, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function breakdownTable(report: Report): string {
  const all = overall(report, 'tail');
  const rest = overall(report, 'nontail');
  const header = [tailTitle(report), 'latency', 'io', 'queue', 'exec', 'unattributed'];
  const classes = tellingClasses(report.breakdown);
  const rows = byRoute(report, 'tail')
    .slice(0, ROWS_SHOWN)
    .map((row) => breakdownRow(markdownCell(row.route), row, classes));
  return table(
    [...header, ...classes.map(({ name }) => name)],
    [
      ...(all === undefined ? [] : [breakdownRow('all routes', all, classes)]),
      ...rows,
      ...(rest === undefined ? [] : [breakdownRow('rest', rest, classes)]),
    ],
  );
}

function workTable(report: Report): string {
  const shares = '% of queue+exec';
  return table(['what the loop thread did', 'tail', shares, 'rest', shares], workRows(report));
}

function clusterTable(report: Report): string {
  const rows = clusterRows(report).map((cells) => ['% of latency', ...cells]);
  return table(['tail of the cluster', ...CLUSTER_HEADER], rows);
}

function processTable(report: Report): string {
  const classes = tellingClasses(report.processes.filter((row) => row.class === 'tail'));
  return table(
    [...PROCESS_HEADER, ...classes.map(({ name }) => name)],
    processRows(report, classes).slice(0, ROWS_SHOWN),
  );
}

function breakdownRow(label: string, row: Breakdown, classes: readonly WorkClass[]): string[] {
  const parts = [row.ioNs, row.queueNs, row.execNs, row.unattributedNs];
  return [
    label,
    formatDuration(row.latencyNs),
    ...parts.map((partNs) => formatShare(partNs, row.latencyNs)),
    ...workShares(row, classes),
  ];
}

function ioTable(report: Report): string {
  const rows = tailIo(report)
    .slice(0, ROWS_SHOWN)
    .map((one) => [
      markdownCell(one.resource),
      markdownCell(one.kind),
      formatDuration(one.ioNs),
      String(one.requests),
      ioParts(one),
    ]);
  return table(['what the tail waited for', 'kind', 'per request', 'requests', 'of it'], rows);
}

function culpritTable(report: Report): string {
  const rows = report.culprits
    .slice(0, ROWS_SHOWN)
    .map((culprit) => [
      markdownCell(culpritName(culprit)),
      markdownCell(culpritPlace(culprit) || (culprit.kind === 'event' ? culprit.type : '')),
      formatDuration(culprit.inflictedNs / Math.max(1, report.tail.count)),
      culpritCounts(culprit),
    ]);
  return table(['who made the tail wait', 'where', 'per tail request', 'how'], rows);
}

function pauseTable(report: Report): string {
  const rows = telling(report.pauses)
    .slice(0, PAUSES_SHOWN)
    .map((pause) => [
      markdownCell(pause.kind),
      formatDuration(pause.durationNs),
      formatDuration(pause.startNs),
      markdownCell(pausePlace(pause)),
      pauseCounts(pause),
      pauseVictims(pause, VICTIMS_SHOWN),
    ]);
  return table(['longest collections', 'took', 'at', 'inside', 'victims', 'of the tail'], rows);
}

function findingList(report: Report): string {
  return advice(report)
    .map((finding, index) => {
      const action = markdownCell(finding.action);
      return `${index + 1}. **${action}**: ${markdownCell(finding.sentence)}${impactOf(finding)}`;
    })
    .join('\n');
}
