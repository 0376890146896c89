/**
 * Names of requests: `METHOD path` where one arrives, `METHOD route` where its response ends.
 *
 * The router is asked through what it leaves on its public objects, and only at the end, when it
 * has matched. Names are bounded: a service with an id in each path must not fill the table.
 */

import type { IncomingMessage } from 'node:http';
import { nameId } from './names';
import { pathOf, patternOf } from './path-pattern';

const NAMES_MAX = 1000;
const OTHER = '(other)';
const paths = new Map<string, number>();
const routes = new Map<string, number>();
/** Routes by name of arrival, where no framework tells one: finding the pattern is not cheap. */
const patterns = new Map<string, number>();

/** What Express leaves on the request. */
interface ExpressRequest extends IncomingMessage {
  originalUrl?: unknown;
  baseUrl?: unknown;
  route?: { path?: unknown };
}

/** Id of the name of a request that arrives. Beyond the first 1000 paths: of its pattern. */
export function sourceName(method: string, url: string): number {
  return bounded(paths, `${method} ${pathOf(url)}`) ?? patternId(method, url);
}

/** Id of the route of a request whose response ends; `known` is what a framework told. */
export function routeName(method: string, url: string, known: string | undefined): number {
  return known === undefined ? patternId(method, url) : routeId(`${method} ${known}`);
}

function patternId(method: string, url: string): number {
  const path = pathOf(url);
  const name = `${method} ${path}`;
  const cached = patterns.get(name);
  if (cached !== undefined) return cached;
  const id = routeId(`${method} ${patternOf(path)}`);
  if (patterns.size < NAMES_MAX) patterns.set(name, id);
  return id;
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
export function arrivedUrl(request: IncomingMessage): string {
  const { originalUrl, url } = request as ExpressRequest;
  return typeof originalUrl === 'string' ? originalUrl : (url ?? '');
}

/** A route pattern as text; patterns may be strings, regular expressions or lists of them. */
export function routeText(pattern: unknown): string {
  if (typeof pattern === 'string') return pattern;
  if (Array.isArray(pattern)) return pattern.map(routeText).join('|');
  return pattern instanceof RegExp ? String(pattern) : OTHER;
}

function routeId(name: string): number {
  return bounded(routes, name) ?? nameId(OTHER);
}

function bounded(names: Map<string, number>, name: string): number | undefined {
  const known = names.get(name);
  if (known !== undefined || names.size >= NAMES_MAX) return known;
  const id = nameId(name);
  names.set(name, id);
  return id;
}
