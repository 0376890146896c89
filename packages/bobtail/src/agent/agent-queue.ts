/**
 * Outgoing requests that wait for a socket of an `http.Agent`.
 *
 * A queued request goes on in the event that freed the socket, which belongs to somebody else; so
 * that moment becomes a micro event registered by the event that made the request.
 */

import http = require('node:http');

import { runBound } from './bind';
import { MicroKind } from './codes';
import { replace } from './disguise';
import { recorder } from './recorder';
import { Stamped } from './stamp';

const AGENT: number = MicroKind.agent;

class QueueStamp extends Stamped {
  #registrar: number;

  constructor(request: object, registrar: number) {
    super(request);
    this.#registrar = registrar;
  }

  static put(request: object, registrar: number): void {
    if (#registrar in request) request.#registrar = registrar;
    else new QueueStamp(request, registrar);
  }

  static take(request: object): number {
    if (!(#registrar in request)) return 0;
    const registrar = request.#registrar;
    request.#registrar = 0;
    return registrar;
  }
}

/** Wraps the two ends of the queue; `https` inherits them. */
export function followAgentQueue(): void {
  const agent = http.Agent.prototype as unknown as { addRequest(...args: unknown[]): unknown };
  const { addRequest: add } = agent;
  function addRequest(this: unknown, request: object): unknown {
    const current = recorder.stream?.currentEvent() ?? 0;
    if (current !== 0) QueueStamp.put(request, current);
    // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
    return Reflect.apply(add, this, arguments);
  }
  replace(agent, 'addRequest', addRequest);

  const { onSocket: attach } = http.ClientRequest.prototype;
  function onSocket(this: http.ClientRequest): unknown {
    const registrar = QueueStamp.take(this);
    // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
    const args = arguments;
    if (registrar === 0 || registrar === recorder.stream?.currentEvent()) {
      return Reflect.apply(attach, this, args);
    }
    return runBound(registrar, AGENT, attach, this, args);
  }
  replace(http.ClientRequest.prototype, 'onSocket', onSocket);
}
