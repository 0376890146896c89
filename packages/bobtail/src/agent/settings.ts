/**
 * What `bobtail record` tells the processes it starts, through the environment.
 *
 * Everything a command starts inherits it, so this also decides which processes are left alone:
 * package managers never serve requests themselves.
 */

import { basename } from 'node:path';
import type { Bursts } from './bursts';

/** How a thread is to be recorded. */
export interface Settings {
  /** The recording folder, absolute. */
  folder: string;
  detail: 'full' | 'loop';
  /** Bound of each trace file, in bytes; 0 leaves it to the probe. */
  maxBytes: number;
  /** Bound of all trace files of the recording together, in bytes; 0 none. */
  maxTotalBytes: number;
  /** Have the kernel record each switch of the loop thread. */
  notRunning: boolean;
  /** Record in bursts; all the time without. */
  bursts?: Bursts;
}

/** Programs that never serve requests themselves. */
export const PACKAGE_MANAGER =
  /^(?:npm|npx|yarn|yarnpkg|pnpm|pnpx|corepack)(?:-cli|-[\d.]+)?(?:\.[cm]?js)?$/;

/** The settings of this process; `undefined` when it is to be left alone. */
export function readSettings(
  env: NodeJS.ProcessEnv,
  argv: readonly string[],
): Settings | undefined {
  const folder = env.BOBTAIL_DIR;
  if (folder === undefined || folder === '' || env.BOBTAIL_DISABLED === '1') return undefined;
  if (PACKAGE_MANAGER.test(basename(argv[1] ?? ''))) return undefined;
  return {
    folder,
    detail: env.BOBTAIL_DETAIL === 'loop' ? 'loop' : 'full',
    maxBytes: readBytes(env.BOBTAIL_MAX_BYTES),
    maxTotalBytes: readBytes(env.BOBTAIL_MAX_TOTAL_BYTES),
    notRunning: env.BOBTAIL_NOT_RUNNING === '1',
    ...readBursts(env.BOBTAIL_BURSTS ?? ''),
  };
}

/** 0 for everything that is no size. */
function readBytes(text = ''): number {
  const bytes = Number(text);
  return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : 0;
}

/** Of `60000/2000`: every minute for two seconds, in ms. */
function readBursts(text: string): { bursts?: Bursts } {
  const [everyMs = 0, forMs = 0] = text.split('/').map(Number);
  return forMs > 0 && everyMs > forMs ? { bursts: { everyMs, forMs } } : {};
}
