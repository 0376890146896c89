/** What a process said last, out of the file that its output went to. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { plain } from '../cli/text/plain';

const BYTES_READ = 64 * 1024;
const LENGTH_MAX = 160;
/** V8 prints a stack of addresses and Node its version after what matters. */
const TELLING = /\b(fatal|[a-z]*error|bad option|not allowed|panic)\b/i;

/** The last line that tells of an error, else the last one; undefined when nothing was said. */
export function lastWords(path: string): string | undefined {
  const lines = readEnd(path)
    .split('\n')
    .map((line) =>
      plain(line)
        .replace(/^[#\s]+/, '')
        .trim(),
    )
    .filter((line) => /\p{L}/u.test(line));
  const last = lines.findLast((line) => TELLING.test(line)) ?? lines.at(-1);
  return last === undefined || last.length <= LENGTH_MAX
    ? last
    : `${last.slice(0, LENGTH_MAX - 1)}…`;
}

function readEnd(path: string): string {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const bytes = Buffer.alloc(Math.min(size, BYTES_READ));
    const read = readSync(file, bytes, 0, bytes.length, size - bytes.length);
    return bytes.toString('utf8', 0, read);
  } finally {
    closeSync(file);
  }
}
