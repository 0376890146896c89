/**
 * Aligned columns, without frames.
 *
 * A table library would bring borders and its own width rules; all that is needed here is
 * padding that does not count colour codes.
 */

/** How a column is aligned; `grow` columns are shortened when the line would be too long. */
export interface Column {
  readonly align: 'left' | 'right';
  readonly grow?: boolean;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colour codes begin with ESC
const COLOR_CODE = /\x1b\[[0-9;]*m/g;

/** Characters as shown. */
export function shownLength(text: string): number {
  return [...text.replace(COLOR_CODE, '')].length;
}

/** How wide rows are when nothing is shortened. */
export function naturalWidth(rows: readonly (readonly string[])[], gap = 2): number {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  return widthOf(columnWidths(columns, rows), gap);
}

/** Of each column, how wide its widest cell is. */
function columnWidths(columns: number, rows: readonly (readonly string[])[]): number[] {
  return Array.from({ length: columns }, (_, index) =>
    Math.max(0, ...rows.map((row) => shownLength(row[index] ?? ''))),
  );
}

/** Of columns of these widths. */
function widthOf(widths: readonly number[], gap: number): number {
  return widths.reduce((sum, one) => sum + one, 0) + gap * (widths.length - 1);
}

/** Rows as lines; every row has one cell per column. */
export function alignRows(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
  gap = 2,
): string[] {
  const widths = columnWidths(columns.length, rows);
  shrinkToFit(columns, widths, width, gap);
  return rows.map((row) =>
    columns
      .map((column, index) => {
        const cell = shorten(row[index] ?? '', widths[index] ?? 0);
        const padding = ' '.repeat(Math.max(0, (widths[index] ?? 0) - shownLength(cell)));
        return column.align === 'left' ? cell + padding : padding + cell;
      })
      .join(' '.repeat(gap))
      .trimEnd(),
  );
}

/** Takes what is too much from the widest growing column, one character at a time. */
function shrinkToFit(columns: readonly Column[], widths: number[], width: number, gap: number) {
  const NARROWEST = 12;
  while (widthOf(widths, gap) > width) {
    let widest = -1;
    columns.forEach((column, index) => {
      if (column.grow && (widest < 0 || (widths[index] ?? 0) > (widths[widest] ?? 0))) {
        widest = index;
      }
    });
    if (widest < 0 || (widths[widest] ?? 0) <= NARROWEST) {
      return;
    }
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
}

/** `serialize src/export.ts:88` → `serial…rt.ts:88`: names tell at both ends what they are. */
function shorten(text: string, width: number): string {
  if (shownLength(text) <= width) {
    return text;
  }
  const characters = [...text.replace(COLOR_CODE, '')];
  const kept = Math.max(0, width - 1);
  const head = characters.slice(0, Math.floor(kept / 2));
  const tail = characters.slice(characters.length - Math.ceil(kept / 2));
  return `${head.join('')}…${tail.join('')}`;
}

/** Words in lines of at most `width` columns, each after `indent`. */
export function wrapWords(text: string, width: number, indent: string): string[] {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(' ')) {
    if (line !== indent && shownLength(line) + shownLength(word) >= width) {
      lines.push(line);
      line = indent;
    }
    line += line === indent ? word : ` ${word}`;
  }
  return [...lines, line];
}
