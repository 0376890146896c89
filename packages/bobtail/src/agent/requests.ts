/**
 * Source and sink of HTTP/1.1 requests: where one arrives and where its response is handed over.
 *
 * The sink is the call of `ServerResponse.prototype.end`, because the channel
 * `http.server.response.finish` comes later, for a pipelined response by the whole time of the
 * one before it.
 */

import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import http = require('node:http');

import { whileRecording } from './bursts';
import { MicroKind } from './codes';
import { replace } from './disguise';
import { Exchange } from './exchange';
import type { Stream } from './recorder';
import { expressRoute, routeName, sourceName } from './route';

interface RequestStart {
  request: http.IncomingMessage;
  response: http.ServerResponse;
}

const CHANNEL = 'http.server.request.start';
const EMITTER: number = MicroKind.emitter;
let lastSourceEvent = 0;
/** The message that was followed before anyone here was subscribed. */
let first: unknown;

/** Starts to record HTTP/1.1 requests. */
export function followRequests(stream: Stream): void {
  const arrive = (message: unknown): void => {
    // An older Node tells also those of a message who subscribe while it is published.
    if (message !== first) receive(stream, message);
    first = undefined;
  };
  whileRecording({
    on: () => subscribe(CHANNEL, arrive),
    off: () => unsubscribe(CHANNEL, arrive),
  });

  const original = http.ServerResponse.prototype.end;
  function end(this: http.ServerResponse): unknown {
    const request = Exchange.finish(this);
    if (request !== 0) endRequest(stream, this, request);
    // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
    return Reflect.apply(original, this, arguments);
  }
  replace(http.ServerResponse.prototype, 'end', end);
}

/** Takes the message of `http.server.request.start` with which the recording began. */
export function receiveFirst(stream: Stream, message: unknown): void {
  receive(stream, message);
  first = message;
}

function receive(stream: Stream, message: unknown): void {
  const { request, response } = message as RequestStart;
  const { method = '', url = '' } = request;
  beginRequest(stream, response, method, url);
}

/** A request arrives in the current event; its number is kept on `response`, which is a new one. */
export function beginRequest(stream: Stream, response: object, method: string, url: string): void {
  separate(stream);
  const request = stream.source(sourceName(method, url));
  lastSourceEvent = stream.currentEvent();
  if (request !== 0) new Exchange(response, request);
}

/**
 * Several requests can arrive in one read (pipelining, HTTP/2), with reactions of the earlier ones
 * between them. Each gets an event of its own, or what they register could not be told apart.
 */
function separate(stream: Stream): void {
  const current = stream.currentEvent();
  const outer = stream.loopEvent();
  if (outer !== 0 && (current === lastSourceEvent || current !== outer)) {
    stream.micro(EMITTER, outer);
  }
}

function endRequest(stream: Stream, response: http.ServerResponse, request: number): void {
  const incoming = response.req;
  const route = Exchange.route(response) ?? expressRoute(incoming);
  const name = routeName(incoming.method ?? '', route);
  stream.sink(request, name, response.statusCode);
}
