/** Which of a process' servers speaks HTTP: that one is under load, and not a debugger's. */
import type { Server } from 'node:net';

const HTTP2_SERVER = /^Http2(?:Secure)?Server$/;

/**
 * Whether `server` is of `http`, `https` or `http2`. Not by class: asking for those would load
 * modules that the application does not use.
 */
export function servesHttp(server: Server): boolean {
  const { closeIdleConnections } = server as { closeIdleConnections?: unknown };
  if (typeof closeIdleConnections === 'function') return true;
  let prototype: object | null = server;
  while (prototype !== null) {
    if (HTTP2_SERVER.test(prototype.constructor.name)) return true;
    prototype = Object.getPrototypeOf(prototype);
  }
  return false;
}
