/**
 * Senses the loop of this thread, and drives the lever by it.
 *
 * What came of it goes into a file, since the output of a service is its own. Nothing here may
 * stop the service: what cannot be boosted runs as it is.
 */
import type { Cluster } from 'node:cluster';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMainThread, threadId } from 'node:worker_threads';

import type { Driven, DriverFile } from '../../cli/boost/driver-file';
import { warn } from '../files';
import { reasonOf } from '../mechanisms';
import { loadProbe, type Probe } from '../native';
import type { BoostSettings } from './settings';

const cluster = require('node:cluster') as Cluster;
const TELL_MS = 1_000;
const IN_WORKER = 'its server listens in a worker thread, which is not boosted';

/** Starts to boost, or only to time requests. Never throws. */
export function startBoost(settings: BoostSettings): void {
  // One thread of a process: others that serve are not sensed so far.
  // The primary of a cluster accepts and passes on: what is slow is in its workers.
  if (cluster.isPrimary && Object.keys(cluster.workers ?? {}).length > 0) return;
  let unsense = () => false;
  try {
    if (!isMainThread) {
      if (settings.drive !== null) tell(settings.folder, { pid: process.pid, refused: IN_WORKER });
      return;
    }
    const probe = loadProbe();
    probe.sense(join(settings.folder, `latencies-${process.pid}-${threadId}`));
    unsense = probe.unsense;
    const { folder, drive } = settings;
    if (drive === null) return;
    follow(folder, probe.drive({ ...drive, isShared: isShared() }), probe.readDriver);
  } catch (error) {
    // Nobody decides: then nobody needs to know.
    unsense();
    tell(settings.folder, { pid: process.pid, refused: reasonOf(error) });
  }
}

/**
 * Whether others of the service may drive the same lever: in a cluster, and among processes that
 * another Node.js started to listen on one port. Each then claims it, and the highest claim stands.
 */
function isShared(): 0 | 1 {
  return cluster.isWorker || process.channel ? 1 : 0;
}

/** Tells the counters every second and at the end; a `kill -9` loses the last second of them. */
function follow(folder: string, driven: Driven, readDriver: Probe['readDriver']): void {
  const startNs = process.hrtime.bigint();
  const write = () => {
    const ranNs = Number(process.hrtime.bigint() - startNs);
    const { lost = null, isLost = false, ...counters } = readDriver();
    tell(folder, { pid: process.pid, driven, ranNs, counters, hold: { lost, isLost } });
  };
  write();
  setInterval(write, TELL_MS).unref();
  process.on('exit', write);
}

function tell(folder: string, content: DriverFile): void {
  const path = join(folder, `driver-${process.pid}-${threadId}.json`);
  try {
    writeFileSync(`${path}.tmp`, `${JSON.stringify(content)}\n`);
    renameSync(`${path}.tmp`, path);
  } catch (error) {
    // The command that reads it has ended and taken the folder along; the service goes on.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    warn(`cannot tell what the boost did: ${reasonOf(error)} (${folder})`);
  }
}
