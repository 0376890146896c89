/**
 * Source and sink of HTTP/2 requests: one stream each, also behind the compatibility API.
 *
 * The compatibility API publishes no channel of HTTP/1.1, so streams are followed; Node 20 has no
 * channel for them either and is left out (told as a mechanism that is not available).
 */

import { subscribe } from 'node:diagnostics_channel';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { replace } from './disguise';
import { Exchange } from './exchange';
import type { Stream } from './recorder';
import { beginRequest } from './requests';

interface StreamStart {
  stream: ServerHttp2Stream;
  headers: IncomingHttpHeaders;
}

const FIRST_NODE = 22;

/** Starts to record HTTP/2 requests. Throws where this Node has no channel for them. */
export function followHttp2Requests(stream: Stream): void {
  const major = Number.parseInt(process.versions.node, 10);
  if (major < FIRST_NODE) throw new Error(`no channel http2.server.stream.start in Node ${major}`);
  let wrapped = false;
  subscribe('http2.server.stream.start', (message) => {
    const { stream: exchange, headers } = message as StreamStart;
    if (!wrapped) {
      wrapped = true;
      wrapEnd(stream, Object.getPrototypeOf(exchange));
    }
    const method = String(headers[':method'] ?? '');
    const url = String(headers[':path'] ?? '');
    beginRequest(stream, exchange, method, url);
  });
}

function wrapEnd(stream: Stream, prototype: ServerHttp2Stream): void {
  const original = prototype.end;
  function end(this: ServerHttp2Stream): unknown {
    const request = Exchange.finish(this);
    if (request !== 0) stream.sink(request, 0, Number(this.sentHeaders?.[':status'] ?? 200));
    // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
    return Reflect.apply(original, this, arguments);
  }
  replace(prototype, 'end', end);
}
