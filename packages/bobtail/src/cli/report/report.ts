/**
 * `bobtail report`: the explanation of a recording, as text, Markdown, JSON or an HTML page, and
 * whether it keeps its gates.
 */
import type { Gate } from '../../gates/gate';
import { judgeGates } from '../../gates/judge';
import { renderJunit } from '../../gates/junit';
import type { GateOutcome } from '../../gates/outcome';
import { analyzePage, analyzeReport, type PageData } from '../analysis';
import { colorsFor, StatusLine, tell, widthOf, writeAnswer } from '../console';
import { type TextOutput, writeTextFiles } from '../export/output-files';
import { concludeGates, gateLines, gateTable } from '../gates/conclude';
import type { Report } from '../json/report';
import { renderPage } from '../page/page-file';
import { shownPath } from '../text/paths';
import { renderMarkdown } from './render-markdown';
import { renderReport } from './render-terminal';

/** What the user asked for. */
export interface ReportRequest {
  readonly folder: string;
  readonly percentile?: number;
  /** Undefined: only the page. */
  readonly format: 'text' | 'markdown' | 'json' | undefined;
  /** Where to write the HTML page. */
  readonly html?: string;
  readonly gates?: readonly Gate[];
  /** Where to write the outcomes of the gates as JUnit XML. */
  readonly junit?: string;
  /** Where to write Markdown. */
  readonly markdownFile?: string;
  /** The page is no answer, but comes after a recording: its path is told on standard error. */
  readonly afterwards?: boolean;
  readonly quiet: boolean;
}

/** Analyses the recording, prints the answer and sets the exit code of its gates. */
export async function report(request: ReportRequest): Promise<void> {
  const { folder, format, html } = request;
  const status = new StatusLine(request.quiet);
  status.show(`bobtail: reading ${shownPath(folder)}`);
  const analyzed = await analyze(request).finally(() => status.clear());
  const { answer, outcomes } = analyzed;
  const text = format === undefined ? undefined : render(answer, outcomes, format, folder);
  await writeTextFiles(filesOf(request, analyzed));
  if (text !== undefined) {
    await writeAnswer(text);
  }
  if (html !== undefined && format === undefined && !request.afterwards) {
    await writeAnswer(shownPath(html));
  } else if (html !== undefined && !request.quiet) {
    tell(`  report ${shownPath(html)}`);
  }
  concludeGates(outcomes);
}

interface Analyzed {
  /** With the gates in it, if any were asked. */
  readonly answer: Report;
  readonly outcomes: readonly GateOutcome[];
  /** What the page shows, if there is to be one; the answer is in it. */
  readonly page?: PageData;
}

async function analyze(request: ReportRequest): Promise<Analyzed> {
  const { folder, percentile, html, gates = [] } = request;
  const options = percentile === undefined ? {} : { percentile };
  const page = html === undefined ? undefined : await analyzePage(folder, options);
  const report = page?.report ?? (await analyzeReport(folder, options));
  const outcomes = await judgeGates(folder, gates, { ...options, report });
  const answer = gates.length === 0 ? report : { ...report, gates: outcomes };
  return { answer, outcomes, ...(page && { page: { ...page, report: answer } }) };
}

function filesOf(
  { folder, html, junit, markdownFile }: ReportRequest,
  { answer, outcomes, page }: Analyzed,
): TextOutput[] {
  const files: TextOutput[] = [];
  if (html !== undefined && page !== undefined) {
    files.push({ out: html, text: renderPage('report', [folder], page) });
  }
  if (junit !== undefined) {
    files.push({ out: junit, text: renderJunit('bobtail report', outcomes) });
  }
  if (markdownFile !== undefined) {
    files.push({ out: markdownFile, text: `${markdownOf(answer, outcomes)}\n` });
  }
  return files;
}

type Format = NonNullable<ReportRequest['format']>;

function render(
  answer: Report,
  outcomes: readonly GateOutcome[],
  format: Format,
  folder: string,
): string {
  switch (format) {
    case 'json':
      return JSON.stringify(answer, null, 2);
    case 'markdown':
      return markdownOf(answer, outcomes);
    case 'text': {
      const look = { colors: colorsFor(process.stdout), width: widthOf(process.stdout) };
      const text = renderReport(answer, shownPath(folder), look);
      return [text, ...gateLines(outcomes, look)].join('\n');
    }
  }
}

function markdownOf(answer: Report, outcomes: readonly GateOutcome[]): string {
  return [gateTable(outcomes), renderMarkdown(answer)].filter((text) => text !== '').join('\n\n');
}
