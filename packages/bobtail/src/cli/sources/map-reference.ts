/**
 * Finds the source map of a generated file: by its `sourceMappingURL` comment, else beside it.
 *
 * Nothing is fetched: a map on a server is told, not read.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { reasonOf } from '../failure';

/** Larger files are not read; the largest bundles in use are a fifth of it. */
const BYTES_MAX = 128 * 1024 * 1024;
/** Before the URL; the last comment of a file counts, as for V8. */
const COMMENT = /\/[/*][#@][ \t]+sourceMappingURL=$/;
const MARK = 'sourceMappingURL=';
/** Longest comment up to the URL that is looked at. */
const COMMENT_LENGTH_MAX = 64;

/** A source map as text. */
export interface FoundMap {
  readonly json: string;
  /** Where it was found; of a map inside the file, the file. */
  readonly url: string;
  /** The file of it; undefined inside the generated file. */
  readonly path?: string;
}

/** A source map that there is, but that cannot be read; its message is for the user. */
export class UnreadableMap extends Error {}

/**
 * The map of the generated file with this path and text; undefined when it has none. Throws
 * `UnreadableMap`.
 */
export function findMap(path: string, text: string): FoundMap | undefined {
  const reference = mapReference(text);
  if (reference === undefined) {
    const beside = `${path}.map`;
    return existsSync(beside) ? readMap(beside) : undefined;
  }
  if (reference.startsWith('data:')) {
    return { json: decodeData(reference), url: pathToFileURL(path).href };
  }
  return readMap(resolve(reference, path));
}

/** What the last `sourceMappingURL` comment of a script says. */
export function mapReference(text: string): string | undefined {
  let at = text.lastIndexOf(MARK);
  while (at >= 0) {
    const end = at + MARK.length;
    if (COMMENT.test(text.slice(Math.max(0, end - COMMENT_LENGTH_MAX), end))) {
      const rest = text.slice(end);
      const length = rest.search(/[\s"'`]|\*\//);
      return (length < 0 ? rest : rest.slice(0, length)) || undefined;
    }
    at = at === 0 ? -1 : text.lastIndexOf(MARK, at - 1);
  }
  return undefined;
}

function resolve(reference: string, path: string): string {
  try {
    return fileURLToPath(new URL(reference, pathToFileURL(path)));
  } catch (error) {
    throw new UnreadableMap(`${reference.slice(0, 80)} is no file`, { cause: error });
  }
}

function readMap(path: string): FoundMap {
  return { json: readText(path), url: pathToFileURL(path).href, path };
}

/** A whole file. Throws `UnreadableMap`, also for one that is too large. */
export function readText(path: string): string {
  try {
    const stat = statSync(path);
    // A pipe would be waited for, a device read without end.
    if (!stat.isFile()) {
      throw new UnreadableMap(`${path} is no file`);
    }
    const { size } = stat;
    if (size > BYTES_MAX) {
      throw new UnreadableMap(`${path} is too large (${Math.round(size / 2 ** 20)} MB)`);
    }
    return withoutMark(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof UnreadableMap) {
      throw error;
    }
    throw new UnreadableMap(`${path} cannot be read: ${reasonOf(error)}`, { cause: error });
  }
}

/** Without the byte order mark, which Node leaves out, too: columns are counted behind it. */
function withoutMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

/** `data:application/json;base64,…`, or percent-encoded. */
function decodeData(url: string): string {
  const comma = url.indexOf(',');
  const head = url.slice(0, comma);
  const body = url.slice(comma + 1);
  if (comma < 0 || !/^data:application\/json\b/.test(head)) {
    throw new UnreadableMap('its data URL holds no JSON');
  }
  if (head.endsWith(';base64')) {
    return Buffer.from(body, 'base64').toString('utf8');
  }
  try {
    return decodeURIComponent(body);
  } catch (error) {
    throw new UnreadableMap('its data URL is damaged', { cause: error });
  }
}
