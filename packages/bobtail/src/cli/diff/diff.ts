/** `bobtail diff`: what moved between two recordings, as text, Markdown or JSON, and its gates. */
import { type DiffGate, judgeDiffGates } from '../../gates/diff-gate';
import type { GateOutcome } from '../../gates/outcome';
import { analyzeDiff } from '../analysis';
import { colorsFor, StatusLine, widthOf, writeAnswer } from '../console';
import { concludeGates, gateLines, gateTable, writeJunit } from '../gates/conclude';
import type { Diff } from '../json/diff';
import { shownPath } from '../text/paths';
import { renderDiff, renderDiffMarkdown } from './render-diff';

/** What the user asked for. */
export interface DiffRequest {
  readonly folders: readonly [string, string];
  readonly percentile?: number;
  readonly format: 'text' | 'markdown' | 'json';
  readonly gates: readonly DiffGate[];
  /** Where to write the outcomes of the gates as JUnit XML. */
  readonly junit?: string;
  readonly quiet: boolean;
}

/** Compares the recordings, prints the answer and sets the exit code of its gates. */
export async function diff(request: DiffRequest): Promise<void> {
  const { folders, percentile, gates, junit } = request;
  const status = new StatusLine(request.quiet);
  status.show(`bobtail: reading ${folders.map(shownPath).join(' and ')}`);
  const options = percentile === undefined ? {} : { percentile };
  const answer = await analyzeDiff(...folders, options).finally(() => status.clear());
  const outcomes = judgeDiffGates(answer, gates);
  if (junit !== undefined) {
    await writeJunit(junit, 'bobtail diff', outcomes);
  }
  await writeAnswer(render(answer, outcomes, request));
  concludeGates(outcomes);
}

function render(
  answer: Diff,
  outcomes: readonly GateOutcome[],
  { format, folders }: DiffRequest,
): string {
  const names = folders.map(shownPath) as [string, string];
  switch (format) {
    case 'json':
      return JSON.stringify(answer, null, 2);
    case 'markdown': {
      const sections = [gateTable(outcomes), renderDiffMarkdown(answer, names)];
      return sections.filter((text) => text !== '').join('\n\n');
    }
    case 'text': {
      const look = { colors: colorsFor(process.stdout), width: widthOf(process.stdout) };
      return [renderDiff(answer, names, look), ...gateLines(outcomes, look)].join('\n');
    }
  }
}
