/**
 * Names of requests: `METHOD pattern` where one arrives, `METHOD route` where its response ends.
 *
 * The router is asked through what it leaves on its public objects, and only at the end, when it
 * has matched. The pattern of the path stands for the route until then, and for good in a request
 * that never ends: a service with an id in each path must neither fill the table nor list each of
 * its unfinished requests as a route of its own.
 */

import type { IncomingMessage } from 'node:http';
import { nameId } from './names';
import { pathOf, patternOf } from './path-pattern';

const NAMES_MAX = 1000;
const OTHER = '(other)';

/**
 * Ids by method and path, a bounded number of them. Two maps deep and not by the joined text,
 * which would be made and hashed anew for every request.
 */
class NamesByMethod {
  readonly #byMethod = new Map<string, Map<string, number>>();
  #count = 0;

  get(method: string, path: string): number | undefined {
    return this.#byMethod.get(method)?.get(path);
  }

  get isFull(): boolean {
    return this.#count >= NAMES_MAX;
  }

  set(method: string, path: string, id: number): void {
    const ofMethod = this.#byMethod.get(method) ?? new Map<string, number>();
    this.#byMethod.set(method, ofMethod);
    ofMethod.set(path, id);
    this.#count++;
  }
}

/** Patterns by method and path: finding one is not cheap. */
const paths = new NamesByMethod();
const patterns = new NamesByMethod();
/** Apart from the patterns, which a scan of random paths can exhaust. */
const routes = new NamesByMethod();

/** What Express leaves on the request. */
interface ExpressRequest extends IncomingMessage {
  originalUrl?: unknown;
  baseUrl?: unknown;
  route?: { path?: unknown };
}

/** Id of the name of a request that arrives. */
export function sourceName(method: string, url: string): number {
  const path = pathOf(url);
  const known = paths.get(method, path);
  if (known !== undefined) return known;
  const id = bounded(patterns, method, patternOf(path));
  if (!paths.isFull) paths.set(method, path, id);
  return id;
}

/** Id of the route that a framework told; 0 without one, which is the name of the source. */
export function routeName(method: string, route: string | undefined): number {
  return route === undefined ? 0 : bounded(routes, method, route);
}

/** The route that Express matched, if it did. */
export function expressRoute(request: IncomingMessage): string | undefined {
  const { baseUrl, route } = request as ExpressRequest;
  const path = route?.path;
  if (path === undefined || path === null) return undefined;
  const text = routeText(path);
  const base = typeof baseUrl === 'string' && baseUrl !== '' ? baseUrl : lostBase(request, text);
  return base + text;
}

/**
 * Express forgets the path of the router when an error leaves it. For a plain pattern it is what
 * the request path has more in front.
 */
function lostBase(request: IncomingMessage, pattern: string): string {
  if (!/^[\w/:.~-]+$/.test(pattern)) return '';
  const parts = pathOf(arrivedUrl(request)).split('/');
  const more = parts.length - pattern.split('/').length;
  return more > 0 ? patternOf(parts.slice(0, more + 1).join('/')) : '';
}

/** The URL as it arrived: Express cuts `url` while it descends into routers. */
function arrivedUrl(request: IncomingMessage): string {
  const { originalUrl, url } = request as ExpressRequest;
  return typeof originalUrl === 'string' ? originalUrl : (url ?? '');
}

/** A route pattern as text; patterns may be strings, regular expressions or lists of them. */
export function routeText(pattern: unknown): string {
  if (typeof pattern === 'string') return pattern;
  if (Array.isArray(pattern)) return pattern.map(routeText).join('|');
  return pattern instanceof RegExp ? String(pattern) : OTHER;
}

function bounded(names: NamesByMethod, method: string, path: string): number {
  const known = names.get(method, path);
  if (known !== undefined) return known;
  if (names.isFull) return nameId(OTHER);
  const id = nameId(`${method} ${path}`);
  names.set(method, path, id);
  return id;
}
