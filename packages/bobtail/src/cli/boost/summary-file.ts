/**
 * The summary of a boost as a file (`boost --out`).
 *
 * Tried before the service starts: it is written when the service ends, after hours perhaps, and
 * a mistyped folder should not be told then.
 */
import { closeSync, existsSync, openSync, unlinkSync, writeFileSync } from 'node:fs';
import { tell } from '../console';
import type { ExitName } from '../exit-codes';
import { writeFailure } from '../failure';
import type { BoostSummary } from './summary';

/** Leaves what is there as it is. Throws a `Failure` where nothing could be written. */
export function requireWritable(path: string): void {
  const wasThere = existsSync(path);
  try {
    closeSync(openSync(path, 'a'));
    if (!wasThere) unlinkSync(path);
  } catch (error) {
    throw writeFailure(error, path);
  }
}

/** Writes it; else tells why not, and what is to be answered for that. */
export function writeSummary(summary: BoostSummary, path: string): ExitName {
  try {
    writeFileSync(path, `${JSON.stringify(summary, null, 2)}\n`);
    return 'ok';
  } catch (error) {
    const failure = writeFailure(error, path);
    tell(`bobtail: ${failure.message}`);
    return failure.exitName;
  }
}
