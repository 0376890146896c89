/**
 * The entry that `--require` loads into every Node process below `bobtail boost`.
 *
 * Apart from the one of `record`: here nothing of the application is wrapped but `listen`, so that
 * a boosted service runs as it does unboosted.
 */
import net = require('node:net');

import { writeSync } from 'node:fs';

import { replace } from '../disguise';
import { writeListening } from '../files';
import { servesHttp } from '../serves-http';
import { type BoostSettings, readBoostSettings } from './settings';

const STDERR = 2;

function unboosted(error: unknown): void {
  const reason = String((error as Error).message).split('\n', 1)[0];
  try {
    writeSync(STDERR, `bobtail: not boosting this process: ${reason} (pid ${process.pid})\n`);
  } catch (closed) {
    // A closed or full stderr: there is nobody else to tell.
    void closed;
  }
}

function startAtFirstListen(settings: BoostSettings): void {
  const original = net.Server.prototype.listen;
  const told = new WeakSet<net.Server>();
  let isStarted = false;

  function listen(this: net.Server): unknown {
    if (!isStarted) {
      isStarted = true;
      try {
        const { startBoost } = require('./drive') as typeof import('./drive');
        startBoost(settings);
      } catch (error) {
        unboosted(error);
      }
    }
    // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
    const result = Reflect.apply(original, this, arguments);
    // Once for each: one whose port is taken is often told to listen again.
    if (settings.tellsListening && !told.has(this)) {
      told.add(this);
      this.once('listening', () => noteListening(settings, this));
    }
    return result;
  }
  replace(net.Server.prototype, 'listen', listen);
}

/** Where it listens, for who starts the load of a proof. */
function noteListening({ folder }: BoostSettings, server: net.Server): void {
  try {
    writeListening(folder, server.address(), servesHttp(server));
  } catch (error) {
    // The command that reads it has ended and taken the folder along; the service goes on.
    void error;
  }
}

try {
  const settings = readBoostSettings(process.env, process.argv);
  if (settings !== undefined) startAtFirstListen(settings);
} catch (error) {
  unboosted(error);
}
