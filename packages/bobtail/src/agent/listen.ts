/**
 * The usual moment a recording starts: the first `listen` of a server in this thread.
 *
 * Before the original call, so that the probe sees the listening descriptor from its birth; and
 * not at preload, because most processes below a command never serve anything.
 */

import net = require('node:net');

import { replace } from './disguise';
import { attempt } from './mechanisms';
import { followServer, noteListening, startRecording } from './recording';
import { servesHttp } from './serves-http';
import type { Settings } from './settings';

/** Wraps `net.Server.prototype.listen`, which http, https and cluster workers use as well. */
export function startAtFirstListen(settings: Settings): void {
  const original = net.Server.prototype.listen;
  const told = new WeakSet<net.Server>();

  function listen(this: net.Server): unknown {
    startRecording(settings);
    followServer(this);
    // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
    const result = Reflect.apply(original, this, arguments);
    if (!told.has(this)) {
      told.add(this);
      this.once('listening', () => {
        attempt('listening file', () => noteListening(settings, this.address(), servesHttp(this)));
      });
    }
    return result;
  }
  replace(net.Server.prototype, 'listen', listen);
}
