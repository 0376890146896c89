/** `bobtail whatif`: what changes would bring, from replays of a recording. */
import { analyzeWhatIf } from '../analysis';
import { colorsFor, StatusLine, widthOf, writeAnswer } from '../console';
import { shownPath } from '../text/paths';
import { renderWhatIf } from './render-what-if';

/** What the user asked for. */
export interface WhatIfRequest {
  readonly folder: string;
  /** Each text is a scenario. */
  readonly scenarios: readonly string[];
  readonly percentile?: number;
  readonly format: 'text' | 'json';
  readonly quiet: boolean;
}

/** Replays the recording and prints the answer. */
export async function whatif(request: WhatIfRequest): Promise<void> {
  const { folder, scenarios, percentile } = request;
  const status = new StatusLine(request.quiet);
  status.show(`bobtail: replaying ${shownPath(folder)}`);
  const options = { scenarios, ...(percentile === undefined ? {} : { percentile }) };
  const answer = await analyzeWhatIf(folder, options).finally(() => status.clear());
  const look = { colors: colorsFor(process.stdout), width: widthOf(process.stdout) };
  await writeAnswer(
    request.format === 'json' ? JSON.stringify(answer, null, 2) : renderWhatIf(answer, look),
  );
}
