// Tables of experiments as Markdown, printed row by row as they are reckoned: those of one run can
// take a while.

/** Prints one row. */
export function row(...cells) {
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
}

/** Prints the names of the columns, and the line below them. */
export function head(...columns) {
  row(...columns);
  row(...columns.map(() => '---'));
}
