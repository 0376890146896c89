/**
 * Senses the loop of this thread, and drives the lever by it.
 *
 * What came of it goes into files, since the output of a service is its own: who this is once, and
 * the counters by the thread that decides, so that the loop has nothing to do with it and a server
 * may give up its rights meanwhile. Nothing here may stop the service: what cannot be boosted runs
 * as it is.
 */
import type { Cluster } from 'node:cluster';
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';

import type { Introduction } from '../../cli/boost/driver-file';
import { warn } from '../files';
import { reasonOf } from '../mechanisms';
import { loadProbe } from '../native';
import type { Mechanism } from '../session';
import type { BoostSettings, DriveOptions } from './settings';
import { FILES, pidNamespace } from './told';

const cluster = require('node:cluster') as Cluster;
/** For all that is told of who drives: a page. */
const ROOM_BYTES = 4096;
const IN_WORKER = 'its server listens in a worker thread, which is not boosted';

/** Starts to boost, or only to time requests. Never throws. */
export function startBoost({ folder, drive }: BoostSettings): void {
  // One thread of a process: others that serve are not sensed so far.
  // The primary of a cluster accepts and passes on: what is slow is in its workers.
  if (cluster.isPrimary && Object.keys(cluster.workers ?? {}).length > 0) return;
  // A number of a process is used again, a moment is not.
  const key = `${process.pid}-${process.hrtime.bigint()}`;
  const own = { pid: process.pid, namespace: pidNamespace() };
  let missing: string[] = [];
  let unsense = () => false;
  try {
    if (!isMainThread) {
      if (drive !== null) tell(folder, key, { ...own, missing, refused: IN_WORKER });
      return;
    }
    const probe = loadProbe();
    const { mechanisms } = probe.sense(join(folder, FILES.latencies(key)));
    unsense = probe.unsense;
    missing = missingOf(mechanisms);
    if (drive === null) {
      // Whatever else cannot be seen nobody asks for.
      const [refused] = missing.filter((one) => one.startsWith('latencies'));
      if (refused !== undefined) tell(folder, key, { ...own, missing, refused });
      return;
    }
    requireSenses(drive, mechanisms);
    reserve(folder, key);
    const told = join(folder, FILES.counters(key));
    const driven = probe.drive({ ...drive, isShared: isShared(), told });
    tell(folder, key, { ...own, missing, driven });
  } catch (error) {
    // Nobody decides: then nobody needs to know.
    unsense();
    tell(folder, key, { ...own, missing, refused: reasonOf(error) });
  }
}

/** Each with the reason. */
function missingOf(mechanisms: readonly Mechanism[]): string[] {
  return mechanisms.filter(({ ok }) => !ok).map(({ name, reason = '?' }) => `${name}: ${reason}`);
}

/** Throws where a policy goes by nothing but what cannot be sensed: it would never boost. */
function requireSenses({ policy }: DriveOptions, mechanisms: readonly Mechanism[]): void {
  const gc = mechanisms.find(({ name }) => name === 'gc');
  if (gc?.ok === false && /^gc-boost\b/.test(policy)) {
    throw new Error(`gc-boost: collections cannot be seen: ${gc.reason}`);
  }
}

/**
 * Whether others of the service may drive the same lever: in a cluster, and among processes that
 * another Node.js started to listen on one port. Each then claims it, and the highest claim stands.
 */
function isShared(): 0 | 1 {
  return cluster.isWorker || process.channel ? 1 : 0;
}

/** Throws where there is no room to tell who drives: then nobody is to. */
function reserve(folder: string, key: string): void {
  writeFileSync(draftOf(folder, key), ' '.repeat(ROOM_BYTES));
}

function draftOf(folder: string, key: string): string {
  return `${join(folder, FILES.driver(key))}.tmp`;
}

function tell(folder: string, key: string, content: Introduction): void {
  const path = join(folder, FILES.driver(key));
  const draft = draftOf(folder, key);
  try {
    // Into the room that there is already, if it was reserved.
    const flag = existsSync(draft) ? 'r+' : 'w';
    writeFileSync(draft, JSON.stringify(content).padEnd(ROOM_BYTES), { flag });
    renameSync(draft, path);
  } catch (error) {
    // The command that reads it has ended and taken the folder along; the service goes on.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    warn(`not boosting this process: ${reasonOf(error)} (pid ${process.pid})`);
    tellNothing(folder, key);
  }
}

/** That there is a process here, where there is no room for more. */
function tellNothing(folder: string, key: string): void {
  try {
    rmSync(draftOf(folder, key), { force: true });
    writeFileSync(join(folder, FILES.untold(key)), '');
  } catch (error) {
    // Not even that, as where the folder is another user's: then nobody knows.
    void error;
  }
}
