/** `bobtail whatif`: what changes would bring, from replays of a recording. */
import { analyzeWhatIf } from '../analysis';
import { colorsFor, StatusLine, tell, widthOf, writeAnswer } from '../console';
import { writeTextFiles } from '../export/output-files';
import { renderPage } from '../page/page-file';
import { shownPath } from '../text/paths';
import { renderWhatIf } from './render-what-if';

/** What the user asked for. */
export interface WhatIfRequest {
  readonly folder: string;
  /** Each text is a scenario. */
  readonly scenarios: readonly string[];
  readonly percentile?: number;
  /** Undefined: only the page. */
  readonly format: 'text' | 'json' | undefined;
  /** Also the distributions of latencies. */
  readonly latencies: boolean;
  /** Where to write the HTML page. */
  readonly html?: string;
  readonly quiet: boolean;
}

/** Replays the recording and prints the answer. */
export async function whatif(request: WhatIfRequest): Promise<void> {
  const { folder, scenarios, percentile, format, html, latencies } = request;
  const status = new StatusLine(request.quiet);
  status.show(`bobtail: replaying ${shownPath(folder)}`);
  const options = { scenarios, latencies, ...(percentile === undefined ? {} : { percentile }) };
  const answer = await analyzeWhatIf(folder, options).finally(() => status.clear());
  if (html !== undefined) {
    await writeTextFiles([{ out: html, text: renderPage('whatif', [folder], answer) }]);
  }
  if (format !== undefined) {
    const look = { colors: colorsFor(process.stdout), width: widthOf(process.stdout) };
    await writeAnswer(
      format === 'json' ? JSON.stringify(answer, null, 2) : renderWhatIf(answer, look),
    );
  }
  if (html !== undefined && format === undefined) {
    await writeAnswer(shownPath(html));
  } else if (html !== undefined && !request.quiet) {
    tell(`  what if ${shownPath(html)}`);
  }
}
