/**
 * A request path with its variable parts replaced, for servers without a known router.
 *
 * Only parts that are clearly identifiers are replaced (numbers, UUIDs, hexadecimal and long
 * tokens), since two routes merged by mistake mislead more than one route listed twice.
 */

const IDENTIFIER = /^(?:\d+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|(?=[a-f]*\d)[0-9a-f]{8,})$/i;
const TOKEN_MIN = 21;
const LENGTH_MAX = 120;

/** `url` without its query; bounded in length. */
export function pathOf(url: string): string {
  const end = url.indexOf('?');
  const path = end < 0 ? url : url.slice(0, end);
  return path.length > LENGTH_MAX ? `${path.slice(0, LENGTH_MAX)}…` : path;
}

/** `path` with identifiers replaced by `:id`. */
export function patternOf(path: string): string {
  return path
    .split('/')
    .map((part) => (IDENTIFIER.test(part) || isToken(part) ? ':id' : part))
    .join('/');
}

function isToken(part: string): boolean {
  return part.length >= TOKEN_MIN && /\d/.test(part) && /^[\w~.=%-]+$/.test(part);
}
