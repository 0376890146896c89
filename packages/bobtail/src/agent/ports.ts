/**
 * Messages between threads: who posted one, and the event in which one is received.
 *
 * A `Worker` is a port as well, so all posts pass one method, and all receipts the one by which
 * Node dispatches messages. A port is a connection whose other end is a thread: nothing tells which
 * post a message answers, so the walk treats it as it treats a client's socket.
 */

import { isMainThread, MessagePort, parentPort, Worker } from 'node:worker_threads';
import type { AnyFunction } from './bind';
import { replace } from './disguise';
import { nameId } from './names';
import type { Stream } from './recorder';
import { Stamped } from './stamp';

const DISPATCH = Symbol.for('nodejs.internal.kHybridDispatch');
const PUBLIC_PORT = 'kPublicPort';
const UNNAMED = 'port';

/** The handle of a port. */
class PortStamp extends Stamped {
  #handle: number;

  constructor(port: object, handle: number) {
    super(port);
    this.#handle = handle;
  }

  static handle(port: object): number {
    return #handle in port ? port.#handle : 0;
  }
}

/** Opens the loop event of a message on a handle; false where it can not be a message's. */
type OpenMessage = (handle: number) => boolean;

/** Starts to follow the messages of this thread. Throws when Node dispatches them another way. */
export function followPorts(stream: Stream, openMessage: OpenMessage): void {
  const prototype = MessagePort.prototype as MessagePort & Record<symbol, AnyFunction>;
  const dispatch = prototype[DISPATCH];
  if (typeof dispatch !== 'function') throw new Error('messages are dispatched in an unknown way');
  // A port in another context (`moveMessagePortToContext`) has another prototype and is left out.
  Object.defineProperty(prototype, DISPATCH, {
    value(this: object, _data: unknown, type: unknown): unknown {
      if (type === 'message') openMessage(handleOf(stream, this));
      // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
      return Reflect.apply(dispatch, this, arguments);
    },
    writable: true,
    configurable: true,
  });
  followPosts(stream, prototype);
  followWorkers(stream);
  if (!isMainThread && parentPort !== null) open(stream, parentPort, 'parent thread');
}

function followPosts(stream: Stream, prototype: MessagePort): void {
  const post = prototype.postMessage as AnyFunction;
  // A method, because the original can not be constructed either.
  const wrapper = {
    postMessage(this: object): unknown {
      // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
      const result = Reflect.apply(post, this, arguments);
      // After it: what can not be cloned is not posted, and cloning is the poster's own work.
      if (this instanceof MessagePort) stream.write(handleOf(stream, this), stream.nowNs());
      return result;
    },
  };
  replace(prototype, 'postMessage', wrapper.postMessage);
}

/** A port of a worker is named after its thread, before it is used in any other way. */
function followWorkers(stream: Stream): void {
  const { prototype } = Worker;
  const post = prototype.postMessage as AnyFunction;
  const named = new WeakSet<object>();
  function nameWorker(worker: Worker): void {
    if (named.has(worker)) return;
    named.add(worker);
    const symbol = Object.getOwnPropertySymbols(worker).find(
      ({ description }) => description === PUBLIC_PORT,
    );
    const port: unknown = symbol && Reflect.get(worker, symbol);
    if (port instanceof MessagePort) open(stream, port, `worker ${worker.threadId}`);
  }
  const wrapper = {
    postMessage(this: Worker): unknown {
      nameWorker(this);
      // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
      return Reflect.apply(post, this, arguments);
    },
  };
  replace(prototype, 'postMessage', wrapper.postMessage);
  process.on('worker', nameWorker);
}

function handleOf(stream: Stream, port: object): number {
  return PortStamp.handle(port) || open(stream, port, UNNAMED);
}

/** Gives a port its handle, or the one it has a better name. */
function open(stream: Stream, port: object, name: string): number {
  const known = PortStamp.handle(port);
  const handle = stream.openPort(known, nameId(name));
  if (known === 0 && handle !== 0) new PortStamp(port, handle);
  return handle;
}
