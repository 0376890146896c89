/**
 * Pages that need nothing but their own file: of a report, a difference, and a what-if.
 *
 * Script and style come from `packages/report-ui`, built beforehand with a content security policy
 * that lets nothing else run; this only fills in the data, in which no tag can begin.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure, hasCode } from '../failure';
import { shownPath } from '../text/paths';

const TEMPLATES_PATH = join(__dirname, '..', '..', 'page');
const PACKAGE_PATH = join(__dirname, '..', '..', '..', 'package.json');
/** Where the data goes; `packages/report-ui/build.mjs` knows it, too. */
const GAP = '@@BOBTAIL-DATA@@';

/** Which page; they are called so in `packages/report-ui/build.mjs`, too. */
export type PageName = 'report' | 'diff' | 'whatif';

/**
 * The text of a page. Throws a `Failure`.
 *
 * `folders` are the recordings, as the user named them; `page` is what the page shows.
 */
export function renderPage(name: PageName, folders: readonly string[], page: object): string {
  const [before, after] = readTemplate(name);
  const { version } = JSON.parse(readFileSync(PACKAGE_PATH, 'utf8')) as { version: string };
  const meta = { version, home: process.cwd(), folders: folders.map(shownPath) };
  const data = JSON.stringify({ meta, page }).replaceAll('<', '\\u003c');
  return `${before}${data}${after}`;
}

function readTemplate(name: PageName): [string, string] {
  const path = join(TEMPLATES_PATH, `${name}.html`);
  let parts: string[];
  try {
    parts = readFileSync(path, 'utf8').split(GAP);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) {
      throw error;
    }
    throw new Failure('internal', 'the HTML pages are not built', path);
  }
  const [before, after] = parts;
  if (before === undefined || after === undefined || parts.length !== 2) {
    throw new Failure('internal', 'the HTML page has no place for data', path);
  }
  return [before, after];
}
