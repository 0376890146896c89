/**
 * Source and sink of HTTP/2 requests: one stream each, also behind the compatibility API.
 *
 * The compatibility API publishes no channel of HTTP/1.1, so streams are followed. Node 20 has no
 * channel for them either; there the server's own `stream` event is the first that tells of one.
 */

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders as Headers, ServerHttp2Stream } from 'node:http2';
import { isRecording, whileRecording } from './bursts';
import { replace } from './disguise';
import { Exchange } from './exchange';
import type { Stream } from './recorder';
import { beginRequest } from './requests';

interface StreamStart {
  stream: ServerHttp2Stream;
  headers: Headers;
}

const CHANNEL = 'http2.server.stream.start';
const CHANNEL_SINCE = 22;
const hasChannel = Number.parseInt(process.versions.node, 10) >= CHANNEL_SINCE;
const SERVER = /^Http2(?:Secure)?Server$/;
let wrapped = false;

/** Starts to record HTTP/2 requests, where this Node has a channel for them. */
export function followHttp2Requests(stream: Stream): void {
  if (!hasChannel) return;
  const start = (message: unknown): void => receive(stream, message);
  whileRecording({
    on: () => subscribe(CHANNEL, start),
    off: () => unsubscribe(CHANNEL, start),
  });
}

/** Takes a message of `http2.server.stream.start`. */
export function receive(stream: Stream, message: unknown): void {
  const { stream: exchange, headers } = message as StreamStart;
  arrive(stream, exchange, headers);
}

/**
 * Follows what `server` emits, where Node has no channel. By name, and when one listens: the
 * classes are not exported, and loading `http2` in every service only to find them would show.
 */
export function followHttp2Server(stream: Stream, server: EventEmitter): void {
  if (hasChannel || !SERVER.test(server.constructor.name)) return;
  const prototype = Object.getPrototypeOf(server) as EventEmitter;
  if (Object.hasOwn(prototype, 'emit')) return;
  const original = prototype.emit;
  function emit(this: EventEmitter, event: string | symbol, ...args: unknown[]): boolean {
    if (event === 'stream' && isRecording())
      arrive(stream, args[0] as ServerHttp2Stream, args[1] as Headers);
    // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
    return Reflect.apply(original, this, arguments);
  }
  replace(prototype, 'emit', emit);
}

function arrive(stream: Stream, exchange: ServerHttp2Stream, headers: Headers): void {
  if (!wrapped) {
    wrapped = true;
    wrapEnd(stream, Object.getPrototypeOf(exchange));
  }
  // Both may tell of the stream with which the recording began.
  if (Exchange.knows(exchange)) return;
  beginRequest(stream, exchange, String(headers[':method'] ?? ''), String(headers[':path'] ?? ''));
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
