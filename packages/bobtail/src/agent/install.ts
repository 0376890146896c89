/**
 * What is wrapped at preload, before the first line of the application.
 *
 * Only what modules capture while they are loaded (`const { nextTick } = process`), and what has to
 * see modules being loaded; it passes everything on until a recording starts.
 */

import { syncBuiltinESMExports } from 'node:module';
import { followFastify } from './clients/fastify';
import { clients } from './clients/table';
import { startAtFirstListen } from './listen';
import { attempt } from './mechanisms';
import { wrapQueueMicrotask } from './microtasks';
import { patchModules } from './modules';
import { startWithoutListening } from './passed-sockets';
import { startAtMessages } from './pool-workers';
import { wrapPromiseHooks } from './promise-hooks';
import type { Settings } from './settings';
import { wrapNextTick } from './ticks';
import { wrapTimers } from './timers';

/** Prepares this thread for a recording. Never throws. */
export function install(settings: Settings): void {
  attempt('listening', () => startAtFirstListen(settings));
  attempt('serving without listening', () => startWithoutListening(settings));
  attempt('worker threads', () => startAtMessages(settings));
  attempt('fastify routes', followFastify);
  attempt('client libraries', () => patchModules(clients));
  if (settings.detail === 'loop') return;
  attempt('next ticks', wrapNextTick);
  attempt('microtasks', wrapQueueMicrotask);
  attempt('promise hooks of others', wrapPromiseHooks);
  attempt('timer callbacks', wrapTimers);
  // Named imports of builtins from ES modules are copies.
  attempt('es module imports', syncBuiltinESMExports);
}
