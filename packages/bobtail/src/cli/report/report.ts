/** `bobtail report`: the explanation of a recording, as text, Markdown, JSON or an HTML page. */
import { analyzeReport } from '../analysis';
import { colorsFor, StatusLine, tell, widthOf, writeAnswer } from '../console';
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
  readonly quiet: boolean;
}

/** Analyses the recording and prints the answer. */
export async function report(request: ReportRequest): Promise<void> {
  const status = new StatusLine(request.quiet);
  status.show(`bobtail: reading ${shownPath(request.folder)}`);
  const { percentile } = request;
  const options = percentile === undefined ? {} : { percentile };
  const { folder, format, html } = request;
  const analysis =
    html === undefined ? analyzeReport(folder, options) : writePage(folder, html, options);
  const answer = await analysis.finally(() => status.clear());
  if (format !== undefined) {
    await writeAnswer(render(answer, format, folder));
  }
  if (html !== undefined && format === undefined) {
    await writeAnswer(shownPath(html));
  } else if (html !== undefined && !request.quiet) {
    tell(`  report ${shownPath(html)}`);
  }
}

type Format = NonNullable<ReportRequest['format']>;

function render(answer: Report, format: Format, folder: string): string {
  switch (format) {
    case 'json':
      return JSON.stringify(answer, null, 2);
    case 'markdown':
      return renderMarkdown(answer);
    case 'text':
      return renderReport(answer, shownPath(folder), {
        colors: colorsFor(process.stdout),
        width: widthOf(process.stdout),
      });
  }
}
