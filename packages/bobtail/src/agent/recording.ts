/**
 * Starts the recording of this thread: probe first, then everything that writes into its stream.
 *
 * If the probe can not start, nothing is installed: the service runs as if the agent was absent,
 * and the process file tells why.
 */

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:net';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { startBursts, whileRecording } from './bursts';
import { MarkKind } from './codes';
import { type Address, warn, writeListening, writeProcess } from './files';
import { addMechanisms, attempt, reasonOf, watchMechanisms } from './mechanisms';
import { nameId, startNames } from './names';
import { adoptDescriptor, lookAgain, openMessage, startProbe } from './native';
import { recorder, type Stream } from './recorder';
import { provideSession, takeSession } from './session';
import type { Settings } from './settings';

/** Of every connection that a server accepts. */
const CONNECTION = 'net.server.socket';
const CHUNK_BYTES = 256 * 1024;
/** Code of the probe's refusal when the recording has reached its bound; `_AGAIN` follows. */
const BEYOND_TOTAL = 'BOBTAIL_TOTAL';

let started = false;
let stream: Stream | undefined;
let startNs = 0n;
let isBeyondTotal = false;

/** Starts the recording, the first time only; tells whether this was it. Never throws. */
export function startRecording(settings: Settings): boolean {
  if (started) return false;
  started = true;
  attempt('probe', () => {
    stream = openStream(settings);
  });
  if (stream !== undefined) {
    install(stream, settings);
    const { bursts } = settings;
    if (bursts !== undefined) attempt('bursts', () => startBursts(bursts, takeSession()));
  }
  // The probe counts these in one file per process.
  if (isBeyondTotal) return true;
  writeProcess(settings.folder, threadId);
  watchMechanisms(() => writeProcess(settings.folder, threadId));
  return true;
}

/** Tells the probe that a descriptor older than the recording is a connection of a client. */
export function adoptConnection(fd: number): void {
  if (stream !== undefined) adoptDescriptor(fd);
}

/** Follows the request whose arrival started the recording. */
export function followFirstRequest(message: unknown): void {
  if (stream === undefined) return;
  if ('response' in (message as object)) {
    (require('./requests') as typeof import('./requests')).receiveFirst(stream, message);
  } else {
    (require('./streams-http2') as typeof import('./streams-http2')).receive(stream, message);
  }
}

/** Follows what only a server itself tells of its requests. */
export function followServer(server: Server): void {
  const open = stream;
  if (open === undefined) return;
  const { followHttp2Server } = require('./streams-http2') as typeof import('./streams-http2');
  attempt('http2 servers', () => followHttp2Server(open, server));
}

/** Tells the command line, and the trace, that a server listens, and whether it serves HTTP. */
export function noteListening(settings: Settings, address: Address, http: boolean): void {
  const place = typeof address === 'object' ? String(address?.port) : address;
  stream?.mark(MarkKind.listening, nameId(place));
  writeListening(settings.folder, address, http);
}

function openStream(settings: Settings): Stream {
  try {
    const session = startProbe({
      path: join(settings.folder, `${process.pid}-${threadId}.trace`),
      pid: process.pid,
      thread: threadId,
      detail: settings.detail,
      notRunning: settings.notRunning ? 1 : 0,
      maxBytes: settings.maxBytes,
      maxTotalBytes: settings.maxTotalBytes,
      chunkBytes: CHUNK_BYTES,
      nodeVersion: process.version,
      arch: process.arch,
    });
    provideSession(session);
    startNs = session.startNs;
    startNames(session.intern);
    addMechanisms(session.mechanisms);
    return require('./stream') as Stream;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    isBeyondTotal = code?.startsWith(BEYOND_TOTAL) ?? false;
    // A service may start threads without end: the first says it for all of its process.
    if (!isBeyondTotal || code === BEYOND_TOTAL) {
      const what = isBeyondTotal && threadId !== 0 ? 'further threads of this' : 'this';
      warn(`not recording ${what} process: ${reasonOf(error)} (pid ${process.pid})`);
    }
    throw error;
  }
}

/** The loop's set of descriptors is empty before it first polls, and then shows nothing. */
function lookAgainLater(): void {
  const look = (): void => {
    unsubscribe(CONNECTION, look);
    attempt('ready times', lookAgain);
  };
  subscribe(CONNECTION, look);
}

function install(open: Stream, settings: Settings): void {
  open.ensureLoopEvent();
  lookAgainLater();
  // Required here and not on top: a process that never listens should not pay for loading them.
  attempt('http requests', () =>
    (require('./requests') as typeof import('./requests')).followRequests(open),
  );
  attempt('http2 requests', () =>
    (require('./streams-http2') as typeof import('./streams-http2')).followHttp2Requests(open),
  );
  if (settings.detail === 'loop') return;
  attempt('promises', () =>
    (require('./promises') as typeof import('./promises')).followPromises(open),
  );
  attempt('agent queue', () =>
    (require('./agent-queue') as typeof import('./agent-queue')).followAgentQueue(),
  );
  attempt('child processes', () =>
    (require('./child-process') as typeof import('./child-process')).followChildProcesses(open),
  );
  attempt('async resources', () =>
    (require('./async-resource') as typeof import('./async-resource')).followAsyncResources(),
  );
  attempt('messages between threads', () =>
    (require('./ports') as typeof import('./ports')).followPorts(open, openMessage),
  );
  attempt('timer due times', () =>
    (require('./timers') as typeof import('./timers')).startTimers(open, startNs),
  );
  attempt('timers made inside Node', () =>
    (require('./timers') as typeof import('./timers')).startTimerLists(),
  );
  whileRecording({
    on() {
      recorder.stream = open;
    },
    off() {
      recorder.stream = undefined;
    },
  });
}
