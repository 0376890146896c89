/**
 * `bobtail report`: the explanation of a recording, as text, Markdown, JSON or an HTML page, and
 * whether it keeps its gates.
 */
import type { Gate } from '../../gates/gate';
import { judgeGates } from '../../gates/judge';
import type { GateOutcome } from '../../gates/outcome';
import { analyzeReport } from '../analysis';
import { colorsFor, StatusLine, tell, widthOf, writeAnswer } from '../console';
import { writeTextFile } from '../export/output-file';
import { concludeGates, gateLines, gateTable, writeJunit } from '../gates/conclude';
import type { Report } from '../json/report';
import { shownPath } from '../text/paths';
import { writePage } from './page';
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
  const [answer, outcomes] = await analyze(request).finally(() => status.clear());
  await writeFiles(request, answer, outcomes);
  if (format !== undefined) {
    await writeAnswer(render(answer, outcomes, format, folder));
  }
  if (html !== undefined && format === undefined && !request.afterwards) {
    await writeAnswer(shownPath(html));
  } else if (html !== undefined && !request.quiet) {
    tell(`  report ${shownPath(html)}`);
  }
  concludeGates(outcomes);
}

async function analyze(request: ReportRequest): Promise<[Report, GateOutcome[]]> {
  const { folder, percentile, html, gates = [] } = request;
  const options = percentile === undefined ? {} : { percentile };
  const analysis =
    html === undefined ? analyzeReport(folder, options) : writePage(folder, html, options);
  const answer = await analysis;
  return [answer, await judgeGates(folder, gates, { ...options, report: answer })];
}

async function writeFiles(
  { junit, markdownFile }: ReportRequest,
  answer: Report,
  outcomes: readonly GateOutcome[],
): Promise<void> {
  if (junit !== undefined) {
    await writeJunit(junit, 'bobtail report', outcomes);
  }
  if (markdownFile !== undefined) {
    await writeTextFile(markdownFile, `${markdownOf(answer, outcomes)}\n`);
  }
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
