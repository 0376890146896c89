/** `bobtail report`: the explanation of a recording, as text, Markdown or JSON. */
import { analyzeReport } from '../analysis';
import { colorsFor, StatusLine, widthOf, writeAnswer } from '../console';
import type { Report } from '../json/report';
import { shownPath } from '../text/paths';
import { renderMarkdown } from './render-markdown';
import { renderReport } from './render-terminal';

/** What the user asked for. */
export interface ReportRequest {
  readonly folder: string;
  readonly percentile?: number;
  readonly format: 'text' | 'markdown' | 'json';
  readonly quiet: boolean;
}

/** Analyses the recording and prints the answer. */
export async function report(request: ReportRequest): Promise<void> {
  const status = new StatusLine(request.quiet);
  status.show(`bobtail: reading ${shownPath(request.folder)}`);
  const { percentile } = request;
  const options = percentile === undefined ? {} : { percentile };
  const answer = await analyzeReport(request.folder, options).finally(() => status.clear());
  await writeAnswer(render(answer, request));
}

function render(answer: Report, request: ReportRequest): string {
  switch (request.format) {
    case 'json':
      return JSON.stringify(answer, null, 2);
    case 'markdown':
      return renderMarkdown(answer);
    case 'text':
      return renderReport(answer, shownPath(request.folder), {
        colors: colorsFor(process.stdout),
        width: widthOf(process.stdout),
      });
  }
}
