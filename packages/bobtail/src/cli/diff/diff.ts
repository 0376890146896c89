/**
 * `bobtail diff`: what moved between two recordings, as text, Markdown, JSON or an HTML page, and
 * its gates.
 */
import { type DiffGate, gatedRoutes, judgeDiffGates } from '../../gates/diff-gate';
import { renderJunit } from '../../gates/junit';
import type { GateOutcome } from '../../gates/outcome';
import { analyzeDiff, analyzeDiffPage, type DiffPageData } from '../analysis';
import { colorsFor, StatusLine, tell, widthOf, writeAnswer } from '../console';
import { type TextOutput, writeTextFiles } from '../export/output-files';
import { concludeGates, gateLines, gateTable } from '../gates/conclude';
import type { Diff } from '../json/diff';
import { renderPage } from '../page/page-file';
import { shownPath } from '../text/paths';
import { renderDiff, renderDiffMarkdown } from './render-diff';

/** What the user asked for. */
export interface DiffRequest {
  readonly folders: readonly [string, string];
  readonly percentile?: number;
  /** Undefined: only the page. */
  readonly format: 'text' | 'markdown' | 'json' | undefined;
  /** Where to write the HTML page. */
  readonly html?: string;
  readonly gates: readonly DiffGate[];
  /** Where to write the outcomes of the gates as JUnit XML. */
  readonly junit?: string;
  readonly quiet: boolean;
}

/** Compares the recordings, prints the answer and sets the exit code of its gates. */
export async function diff(request: DiffRequest): Promise<void> {
  const { folders, format, gates, html, junit } = request;
  const status = new StatusLine(request.quiet);
  status.show(`bobtail: reading ${folders.map(shownPath).join(' and ')}`);
  const { bare, page } = await analyze(request).finally(() => status.clear());
  const outcomes = judgeDiffGates(bare, gates);
  const answer = gates.length === 0 ? bare : { ...bare, gates: outcomes };
  const text = format === undefined ? undefined : render(answer, outcomes, format, folders);
  const files: TextOutput[] = [];
  if (html !== undefined && page !== undefined) {
    files.push({ out: html, text: renderPage('diff', folders, { ...page, diff: answer }) });
  }
  if (junit !== undefined) {
    files.push({ out: junit, text: renderJunit('bobtail diff', outcomes) });
  }
  await writeTextFiles(files);
  if (text !== undefined) {
    await writeAnswer(text);
  }
  if (html !== undefined && format === undefined) {
    await writeAnswer(shownPath(html));
  } else if (html !== undefined && !request.quiet) {
    tell(`  diff ${shownPath(html)}`);
  }
  concludeGates(outcomes);
}

async function analyze(request: DiffRequest): Promise<{ bare: Diff; page?: DiffPageData }> {
  const { folders, html, percentile, gates } = request;
  const routes = gatedRoutes(gates);
  const options = percentile === undefined ? { routes } : { percentile, routes };
  if (html === undefined) {
    return { bare: await analyzeDiff(...folders, options) };
  }
  const page = await analyzeDiffPage(...folders, options);
  return { bare: page.diff, page };
}

function render(
  answer: Diff,
  outcomes: readonly GateOutcome[],
  format: NonNullable<DiffRequest['format']>,
  folders: DiffRequest['folders'],
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
