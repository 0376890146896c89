/**
 * Strings of the string table as ids, through a cache that can not grow without bound.
 *
 * The table itself is kept by the native probe. A program may produce any number of names, so the
 * cache refuses new ones when it is full instead of dropping old ones: the names seen first are
 * those of the steady state.
 */

const CACHE_MAX = 4096;
const OTHER = '(other)';

let intern: (text: string) => number = () => 0;
const cache = new Map<string, number>();

/** Sets the native table behind the cache. */
export function startNames(nativeIntern: (text: string) => number): void {
  intern = nativeIntern;
  cache.clear();
}

/** Id of `text`, or of `(other)` when too many names are in use already. */
export function nameId(text: string): number {
  const known = cache.get(text);
  if (known !== undefined) return known;
  if (cache.size >= CACHE_MAX) return intern(OTHER);
  const id = intern(text);
  cache.set(text, id);
  return id;
}
