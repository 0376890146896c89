/**
 * What is remembered of a request until its response ends, on the response object.
 *
 * A private field and not a map by object: it lives exactly as long as the response, whatever the
 * application does with it.
 */

import { Stamped } from './stamp';

/** Asks a framework for the route it matched; called when the response ends. */
export type RouteSource = () => string | undefined;

/** The request of a response (or HTTP/2 stream), and the route once a framework told it. */
export class Exchange extends Stamped {
  #request: number;
  #route: RouteSource | undefined = undefined;

  /** Puts the number of a request on its response. */
  constructor(response: object, request: number) {
    super(response);
    this.#request = request;
  }

  /** The request that `response` answers, once; 0 when none or when it was asked before. */
  static finish(response: object): number {
    if (!(#request in response)) return 0;
    const request = response.#request;
    response.#request = 0;
    return request;
  }

  /** Whether `response` belongs to a recorded request. */
  static knows(response: object): boolean {
    return #request in response;
  }

  /** Lets a framework tell the route of `response`. */
  static routeBy(response: object, route: RouteSource): void {
    if (#request in response) response.#route = route;
  }

  /** The route a framework told, if any. */
  static route(response: object): string | undefined {
    return #request in response ? response.#route?.() : undefined;
  }
}
