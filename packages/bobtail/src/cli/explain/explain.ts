/** `bobtail explain`: one request of a recording, segment by segment. */
import { analyzeRequest, type ExplainOptions } from '../analysis';
import { colorsFor, StatusLine, widthOf, writeAnswer } from '../console';
import { shownPath } from '../text/paths';
import { renderExplanation } from './render-explanation';

/** What the user asked for. */
export interface ExplainRequest {
  readonly folder: string;
  readonly which: ExplainOptions;
  readonly format: 'text' | 'json';
  readonly events: boolean;
  readonly quiet: boolean;
}

/** Analyses the recording and prints the request. */
export async function explain(request: ExplainRequest): Promise<void> {
  const status = new StatusLine(request.quiet);
  status.show(`bobtail: reading ${shownPath(request.folder)}`);
  const answer = await analyzeRequest(request.folder, request.which).finally(() => status.clear());
  await writeAnswer(
    request.format === 'json'
      ? JSON.stringify(answer, null, 2)
      : renderExplanation(answer, {
          colors: colorsFor(process.stdout),
          width: widthOf(process.stdout),
          events: request.events,
        }),
  );
}
