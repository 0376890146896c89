/**
 * The entry that `--require` loads into every Node process below `bobtail record`.
 *
 * As small as possible: it loads nothing more unless this process is to be recorded. What it loads
 * may be out of reach (`--permission` with a list of folders), which must not end the process.
 */

import { writeSync } from 'node:fs';

const STDERR = 2;

try {
  const { readSettings } = require('./settings') as typeof import('./settings');
  const settings = readSettings(process.env, process.argv);
  if (settings !== undefined) {
    const { install } = require('./install') as typeof import('./install');
    install(settings);
  }
} catch (error) {
  warnUnloaded(String((error as Error).message).split('\n', 1)[0]!);
}

function warnUnloaded(reason: string): void {
  const where = `${__dirname}, pid ${process.pid}`;
  try {
    writeSync(STDERR, `bobtail: not recording this process: ${reason} (${where})\n`);
  } catch (error) {
    // A closed or full stderr: there is nobody else to tell.
    void error;
  }
}
