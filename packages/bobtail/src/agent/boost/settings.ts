/** What `bobtail boost` tells the processes it starts, through the environment. */
import { basename } from 'node:path';

import { PACKAGE_MANAGER } from '../settings';

/** A policy and a lever, as the native half takes them; numbers left out are the lever's own. */
export interface DriveOptions {
  readonly policy: string;
  /** The word of a lever. */
  readonly actuator: string;
  /** Where the bobtaild listens that has it in its hand. */
  readonly socket?: string;
  /** CPUs for the thread that decides, such as `0-3`. */
  readonly ownCpus?: string;
  readonly cpu?: number;
  readonly baseKhz?: number;
  readonly peakKhz?: number;
  readonly fullKhz?: number;
  readonly latencyNs?: number;
  /** What looking may cost, as a share of the loops' busy time; without it there is no bound. */
  readonly budget?: number;
}

/** What a process does. */
export interface BoostSettings {
  /** Where it tells what came of it, absolute. */
  readonly folder: string;
  /** Null where only latencies are wanted, of a service as it is. */
  readonly drive: DriveOptions | null;
  /** Whether somebody waits for it to listen. */
  readonly tellsListening: boolean;
}

/** The settings of this process; `undefined` when it is to be left alone. */
export function readBoostSettings(
  env: NodeJS.ProcessEnv,
  argv: readonly string[],
): BoostSettings | undefined {
  const { BOBTAIL_BOOST_DIR: folder, BOBTAIL_BOOST: drive, BOBTAIL_DISABLED } = env;
  const tellsListening = env.BOBTAIL_BOOST_LISTENING === '1';
  if (!folder || !drive || BOBTAIL_DISABLED === '1') return undefined;
  if (PACKAGE_MANAGER.test(basename(argv[1] ?? ''))) return undefined;
  return { folder, drive: JSON.parse(drive) as DriveOptions | null, tellsListening };
}
