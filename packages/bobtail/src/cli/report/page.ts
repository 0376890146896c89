/**
 * The HTML report: one file that needs nothing but itself.
 *
 * Script and style come from `packages/report-ui`, built beforehand with a content security policy
 * that lets nothing else run; this only fills in the data, in which no tag can begin.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { analyzePage, type ReportOptions } from '../analysis';
import { writeTextFile } from '../export/output-file';
import { Failure, hasCode } from '../failure';
import type { Report } from '../json/report';
import { shownPath } from '../text/paths';

const TEMPLATE_PATH = join(__dirname, '..', '..', 'page', 'page.html');
const PACKAGE_PATH = join(__dirname, '..', '..', '..', 'package.json');
/** Where the data goes; `packages/report-ui/build.mjs` knows it, too. */
const GAP = '@@BOBTAIL-DATA@@';

/**
 * Analyses a recording and writes its page to `file`, whole or not at all. Resolves to the report
 * that is in it. Rejects with a `Failure`.
 */
export async function writePage(
  folder: string,
  file: string,
  options: ReportOptions = {},
): Promise<Report> {
  const [before, after] = readTemplate();
  const page = await analyzePage(folder, options);
  const { version } = JSON.parse(readFileSync(PACKAGE_PATH, 'utf8')) as { version: string };
  const meta = { version, home: process.cwd(), folder: shownPath(folder) };
  const data = JSON.stringify({ meta, page });
  await writeTextFile(file, `${before}${data.replaceAll('<', '\\u003c')}${after}`);
  return page.report;
}

function readTemplate(): [string, string] {
  let parts: string[];
  try {
    parts = readFileSync(TEMPLATE_PATH, 'utf8').split(GAP);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) {
      throw error;
    }
    throw new Failure('internal', 'the HTML report is not built', TEMPLATE_PATH);
  }
  const [before, after] = parts;
  if (before === undefined || after === undefined || parts.length !== 2) {
    throw new Failure('internal', 'the HTML report has no place for data', TEMPLATE_PATH);
  }
  return [before, after];
}
