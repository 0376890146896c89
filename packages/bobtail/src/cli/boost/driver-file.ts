/** What a boosted process tells the command line: `driver-<pid>-<thread>.json` in its folder. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasCode } from '../failure';

/** A lever under a policy. */
export interface Driven {
  /** With all its settings. */
  readonly policy: string;
  readonly lever: string;
  readonly about: string;
  readonly isEmulated: boolean;
  /** Values of the lever without and with a boost, in its own unit. */
  readonly base: number;
  readonly peak: number;
}

/** What the driver did. */
export interface DriverCounters {
  readonly looks: number;
  /** CPU time of the looks, with waking up for them. */
  readonly lookingNs: number;
  readonly boosts: number;
  readonly boostedNs: number;
  /** Boosts by why they began; one may have several reasons. */
  readonly forCollection: number;
  readonly forQueueLength: number;
  readonly forHead: number;
  readonly forLongTurn: number;
  /** Changes the lever refused. */
  readonly refused: number;
  /** For how long it had no lever, or one that refused it. */
  readonly lostNs: number;
}

/** Whether the driver has its lever. */
export interface Hold {
  /** Why it was lost last; null where it never was. */
  readonly lost: string | null;
  readonly isLost: boolean;
}

/** What one process tells. */
export type DriverFile =
  | { readonly pid: number; readonly refused: string }
  | {
      readonly pid: number;
      readonly driven: Driven;
      readonly ranNs: number;
      readonly counters: DriverCounters;
      readonly hold: Hold;
    };

/**
 * All of a folder; none where it is gone. The service goes on then, so this must not end the one
 * who waits for it.
 */
export function readDriverFiles(folder: string): DriverFile[] {
  try {
    const names = readdirSync(folder).filter((name) => /^driver-.*\.json$/.test(name));
    return names.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as DriverFile);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) {
      return [];
    }
    throw error;
  }
}

/** Who is not driven; a thread beside one of the same process that is driven is not told. */
export function refusals(files: readonly DriverFile[]): { pid: number; refused: string }[] {
  const driving = new Set(files.filter((file) => 'driven' in file).map(({ pid }) => pid));
  return files.filter((file) => 'refused' in file).filter(({ pid }) => !driving.has(pid));
}
