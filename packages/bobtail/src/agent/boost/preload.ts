/**
 * The entry that `--require` loads into every Node process below `bobtail boost`.
 *
 * Apart from the one of `record`: here nothing of the application is wrapped but `listen`, so that
 * a boosted service runs as it does unboosted.
 */
import net = require('node:net');

import { replace } from '../disguise';
import { readBoostSettings } from './settings';

const settings = readBoostSettings(process.env, process.argv);
if (settings !== undefined) {
  const original = net.Server.prototype.listen;
  let isStarted = false;

  function listen(this: net.Server): unknown {
    if (!isStarted) {
      isStarted = true;
      const { startBoost } = require('./drive') as typeof import('./drive');
      startBoost(settings!);
    }
    // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
    return Reflect.apply(original, this, arguments);
  }
  replace(net.Server.prototype, 'listen', listen);
}
