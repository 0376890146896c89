/** Paths as the user would type them. */
import { relative } from 'node:path';

/** Relative below the working folder, absolute elsewhere. */
export function shownPath(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere === '' || fromHere.startsWith('..') ? path : fromHere;
}
