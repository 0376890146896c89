/**
 * The file that a bundler means by a `webpack://` source.
 *
 * Such a name is the path of a file within the project, which the map does not place; the project
 * is taken to be the nearest folder above what ran that has a `package.json`.
 */
import { existsSync, statSync } from 'node:fs';
import { dirname, join, normalize, sep } from 'node:path';

const WEBPACK = /^webpack:\/\/[^/]*\/(.+)$/;

/** The path of `source`, a URL of a map of `generated`; undefined where there is no such file. */
export function projectPath(source: string, generated: string): string | undefined {
  const [, rest] = WEBPACK.exec(source) ?? [];
  if (rest === undefined) {
    return undefined;
  }
  const path = normalize(decoded(rest));
  // Outside of the project it would be anyone's guess.
  if (path.startsWith('..') || path.startsWith(sep) || path.includes('\0')) {
    return undefined;
  }
  const root = projectOf(generated);
  const found = root === undefined ? undefined : join(root, path);
  return found !== undefined && isFile(found) ? found : undefined;
}

function projectOf(file: string): string | undefined {
  let folder = dirname(file);
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder) {
      return undefined;
    }
    folder = parent;
  }
  return folder;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

/** Without the hash that webpack adds to tell modules apart, and without escapes. */
function decoded(text: string): string {
  const path = text.replace(/\?[0-9a-z]*$/, '');
  try {
    return decodeURIComponent(path);
  } catch {
    // Not escaped then: the name itself has the sign.
    return path;
  }
}
