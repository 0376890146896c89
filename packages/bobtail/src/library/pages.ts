/** HTML pages from programs: what `--html` writes, whole or not at all. */
import {
  analyzeDiffPage,
  analyzePage,
  analyzeWhatIf,
  type ReportOptions,
  type WhatIfOptions,
} from '../cli/analysis';
import { writeTextFiles } from '../cli/export/output-files';
import type { Diff } from '../cli/json/diff';
import type { Report } from '../cli/json/report';
import type { WhatIf } from '../cli/json/what-if';
import { renderPage } from '../cli/page/page-file';
import { gatedRoutes, judgeDiffGates, parseDiffGate } from '../gates/diff-gate';
import { parseGate } from '../gates/gate';
import { judgeGates } from '../gates/judge';

/** What is on a page. */
export interface PageOptions extends ReportOptions {
  /** Told on top of the page, and as `gates` of the answer. Whether one is missed is no error. */
  readonly gates?: readonly string[];
}

/** As `writePage` of the library, of the recording in a folder. */
export async function writeReportPage(
  folder: string,
  out: string,
  { gates = [], ...options }: PageOptions = {},
): Promise<Report> {
  const parsed = gates.map(parseGate);
  const page = await analyzePage(folder, options);
  const outcomes = await judgeGates(folder, parsed, { ...options, report: page.report });
  const report = parsed.length === 0 ? page.report : { ...page.report, gates: outcomes };
  await writeTextFiles([{ out, text: renderPage('report', [folder], { ...page, report }) }]);
  return report;
}

/** As `writeDiffPage` of the library, of the recordings in two folders. */
export async function writeDifferencePage(
  folders: readonly [string, string],
  out: string,
  { gates = [], ...options }: PageOptions = {},
): Promise<Diff> {
  const parsed = gates.map(parseDiffGate);
  const page = await analyzeDiffPage(...folders, { ...options, routes: gatedRoutes(parsed) });
  const outcomes = judgeDiffGates(page.diff, parsed);
  const diff = parsed.length === 0 ? page.diff : { ...page.diff, gates: outcomes };
  await writeTextFiles([{ out, text: renderPage('diff', folders, { ...page, diff }) }]);
  return diff;
}

/** As `writeWhatIfPage` of the library, of the recording in a folder. */
export async function writePredictionPage(
  folder: string,
  out: string,
  options: WhatIfOptions,
): Promise<WhatIf> {
  const answer = await analyzeWhatIf(folder, options);
  await writeTextFiles([{ out, text: renderPage('whatif', [folder], answer) }]);
  return answer;
}
