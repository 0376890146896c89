/**
 * The entry that `--require` loads into every Node process below `bobtail record`.
 *
 * As small as possible: it loads nothing more unless this process is to be recorded.
 */

import { readSettings } from './settings';

const settings = readSettings(process.env, process.argv);
if (settings !== undefined) {
  const { install } = require('./install') as typeof import('./install');
  install(settings);
}
