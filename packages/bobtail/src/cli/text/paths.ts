/** Paths as the user would type them. */
import { relative, sep } from 'node:path';

/**
 * Text of a recording with the paths in it as the user would type them.
 *
 * The service may have run elsewhere; then nothing matches and the paths stay absolute.
 */
export function nearPaths(text: string, folder = process.cwd()): string {
  if (folder === sep) {
    return text;
  }
  const here = `${folder}${sep}`;
  const paths = text.replaceAll(`file://${here}`, here);
  return paths.replaceAll(here, (match, offset: number) =>
    /^[\s("']?$/.test(paths.charAt(offset - 1)) ? '' : match,
  );
}

/** Relative below the working folder, absolute elsewhere. */
export function shownPath(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere === '' || fromHere.startsWith('..') ? path : fromHere;
}
