/**
 * The other moments a recording starts: in a process that serves without ever listening.
 *
 * Its connections come from a parent (`child.send(message, socket)`, sticky sessions) or from
 * anywhere else (`server.emit('connection', stream)`). The first is seen where Node announces a
 * handle that was passed, the second when the first request arrives; so that a process which serves
 * nothing is left alone, whatever messages it exchanges.
 */

import { subscribe } from 'node:diagnostics_channel';
import { attempt } from './mechanisms';
import { adoptConnection, followFirstRequest, startRecording } from './recording';
import type { Settings } from './settings';

/** What Node sends beside a handle. */
interface Announcement {
  cmd?: unknown;
  type?: unknown;
}

const ANNOUNCEMENT = 'internalMessage';
const CHANNELS = ['http.server.request.start', 'http2.server.stream.start'];

/** Waits for a passed connection, or for a request that arrived some other way. */
export function startWithoutListening(settings: Settings): void {
  let isOver = false;
  function forget(): void {
    // The channels stay subscribed: a Node that is not recent cannot lose a subscriber while it
    // publishes; it skips the next one, or throws in the service's face when it was the last.
    isOver = true;
    process.removeListener(ANNOUNCEMENT, onAnnouncement);
  }
  function onAnnouncement(message: Announcement | null, handle: { fd?: unknown } | null): void {
    // `net.Socket`, `net.Server`, `net.Native`: datagrams are nobody's requests.
    if (message?.cmd !== 'NODE_HANDLE' || !String(message.type).startsWith('net.')) return;
    forget();
    if (!startRecording(settings)) return;
    const fd = handle?.fd;
    if (typeof fd === 'number') attempt('passed connections', () => adoptConnection(fd));
  }
  function onRequest(message: unknown): void {
    if (isOver) return;
    forget();
    // Only those who subscribed before this message was published are told of it.
    if (startRecording(settings)) attempt('first request', () => followFirstRequest(message));
  }
  if (process.channel !== undefined) process.on(ANNOUNCEMENT, onAnnouncement);
  for (const channel of CHANNELS) subscribe(channel, onRequest);
}
