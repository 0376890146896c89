/** A difference as text for the terminal, and as Markdown for a pull request. */
import type { Diff, RouteDiff } from '../json/diff';
import type { Look } from '../report/render-terminal';
import { plain } from '../text/plain';
import { markdownCell, plainNear } from '../text/recorded-text';
import { alignRows, type Column } from '../text/table';
import { countOf } from '../text/units';
import {
  beyondLines,
  beyondTitle,
  CHANGE_HEADER,
  causeRows,
  headline,
  latencyRows,
  methodLine,
  moved,
  notes,
  overall,
  shownPercentile,
  sideLine,
  tailRows,
} from './sentences';

const ROUTES_SHOWN = 12;
const TAIL_ROWS_SHOWN = 10;

const CHANGE_COLUMNS: readonly Column[] = [
  ...Array.from({ length: 5 }, (): Column => ({ align: 'right' })),
  { align: 'left' },
];

/** The whole difference; `folders` are shown as where it came from. */
export function renderDiff(diff: Diff, folders: readonly [string, string], look: Look): string {
  const { bold, dim } = look.colors;
  const sides = (['A', 'B'] as const).map((name, index) => {
    return dim(sideLine(name, diff, folders[index] ?? ''));
  });
  const sections = [
    [bold(headline(diff)), ...beyondLines(diff), ...sides, ...notes(diff).map(plain)],
    table(bold('latency'), latencyRows(overall(diff)), look),
    routeLines(diff, look),
    causeLines(diff, look),
    tailLines(diff, look),
    [dim(methodLine(diff)), ...diff.notes.map((note) => dim(plainNear(note)))],
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join('\n')}\n`)
    .join('\n');
}

function table(title: string, rows: readonly (readonly string[])[], look: Look): string[] {
  const header = [title, ...CHANGE_HEADER.map(look.colors.dim)];
  const indented = rows.map(([name = '', ...cells]) => [`  ${name}`, ...cells]);
  const columns: Column[] = [{ align: 'left', grow: true }, ...CHANGE_COLUMNS];
  return alignRows(columns, [header, ...indented], look.width);
}

/** A single route is all of them. */
function shownRoutes(diff: Diff): RouteDiff[] {
  const routes = diff.routes.filter((one) => one !== overall(diff));
  const changed = (one: RouteDiff): boolean =>
    moved(one.mean) || one.percentiles.some(({ latency }) => moved(latency));
  return routes.length < 2 ? [] : routes.filter(changed);
}

function routeLines(diff: Diff, look: Look): string[] {
  const routes = shownRoutes(diff);
  const lines = routes.slice(0, ROUTES_SHOWN).flatMap((route, index) => {
    const told = latencyRows(route).filter((row) => row.at(-1) !== 'not enough samples');
    const title = look.colors.bold(plain(route.route));
    return [...(index === 0 ? [] : ['']), ...table(title, told, look)];
  });
  const still = diff.routes.length - 1 - routes.length;
  const more = routes.length - ROUTES_SHOWN;
  return [
    ...lines,
    ...(more > 0 ? [look.colors.dim(`and ${countOf(more, 'route')} more: --json`)] : []),
    ...(routes.length > 0 && still > 0
      ? [look.colors.dim(`${countOf(still, 'other route')} did not move`)]
      : []),
  ];
}

function causeLines(diff: Diff, look: Look): string[] {
  const one = shownPercentile(overall(diff));
  return one === undefined ? [] : table(look.colors.bold(beyondTitle(one)), causeRows(one), look);
}

function tailLines(diff: Diff, look: Look): string[] {
  const rows = tailRows(diff).slice(0, TAIL_ROWS_SHOWN);
  if (rows.length === 0) {
    return [];
  }
  const title = look.colors.bold('what the tail waited for and behind');
  const header = ['', '', ...CHANGE_HEADER.map(look.colors.dim)];
  const indented = rows.map(([name = '', ...cells]) => [`  ${name}`, ...cells]);
  const grow: Column = { align: 'left', grow: true };
  const columns = [grow, grow, ...CHANGE_COLUMNS];
  return [title, ...alignRows(columns, [header, ...indented], look.width)];
}

/** The same, short enough for a pull request comment. */
export function renderDiffMarkdown(diff: Diff, folders: readonly [string, string]): string {
  const one = shownPercentile(overall(diff));
  const routes = shownRoutes(diff).slice(0, ROUTES_SHOWN);
  const sections = [
    `**${headline(diff)}**`,
    ...beyondLines(diff),
    (['A', 'B'] as const)
      .map((name, index) => `- ${markdownCell(sideLine(name, diff, folders[index] ?? ''))}`)
      .join('\n'),
    ...notes(diff).map(markdownCell),
    markdownTable('latency', latencyRows(overall(diff))),
    ...routes.map((route) => markdownTable(route.route, latencyRows(route))),
    one === undefined ? '' : markdownTable(beyondTitle(one), causeRows(one)),
    markdownTable(
      'what the tail waited for and behind',
      tailRows(diff).slice(0, TAIL_ROWS_SHOWN).map(joinNames),
    ),
    `<sub>${[methodLine(diff), ...diff.notes.map(markdownCell)].join(' · ')}</sub>`,
  ];
  return sections.filter((section) => section !== '').join('\n\n');
}

function joinNames([name = '', place = '', ...cells]: readonly string[]): string[] {
  return [`${name} ${place}`, ...cells];
}

function markdownTable(title: string, rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) {
    return '';
  }
  const header = [markdownCell(title), ...CHANGE_HEADER];
  const ruler = header.map((_, index) => (index === 0 ? '---' : '---:'));
  const cells = rows.map(([name = '', ...more]) => [markdownCell(name), ...more]);
  return [header, ruler, ...cells].map((row) => `| ${row.join(' | ')} |`).join('\n');
}
