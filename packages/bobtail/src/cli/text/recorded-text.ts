/**
 * Text that came out of a recording, made safe to show.
 *
 * Routes and file names are chosen by whoever sent the request; escape sequences in them must not
 * reach the terminal, nor pipes and backticks a Markdown table.
 */
import { nearPaths } from './paths';
import { plain } from './plain';

/** For the terminal, with paths below the working folder shortened. */
export function plainNear(text: string): string {
  return plain(nearPaths(text));
}

/** For a cell of a Markdown table. */
export function markdownCell(text: string): string {
  return plainNear(text).replace(/[\\|`*_<>[\]]/g, '\\$&');
}
