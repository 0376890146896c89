/**
 * The folder a recording is written to, made before anything is started.
 *
 * An existing recording is never written over: the next free number is taken. Making a folder is
 * atomic, so two recordings started at once get two folders.
 */
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statfsSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { Failure, hasCode, writeFailure } from '../failure';
import { isWithoutHeader } from './trace-headers';

/** Below this a recording would stop within seconds, or starve the service of disk. */
const FREE_BYTES_MIN = 16 * 2 ** 20;
const NUMBER_MAX = 9999;

/** A folder to record into. */
export interface RecordingFolder {
  /** Absolute. */
  readonly path: string;
  /** Whether it did not exist before. */
  readonly made: boolean;
}

/** Makes the folder for `wanted`, or takes it when it is there and empty. */
export function makeRecordingFolder(wanted: string): RecordingFolder {
  const folder = takeFolder(resolve(wanted));
  try {
    accessSync(folder.path, constants.W_OK | constants.X_OK);
    checkFreeSpace(folder.path);
    return folder;
  } catch (error) {
    discardEmptyRecording(folder);
    throw writeFailure(error, folder.path);
  }
}

/** What recorder and agents write beside the traces. */
const TOLD = /^(?:run|process-\d+-\d+|listening-\d+|refused-\d+)\.json(?:\.tmp)?$/;

/** Removes a folder in which nothing was recorded; one that holds anything else stays. */
export function discardEmptyRecording(folder: RecordingFolder): void {
  if (!existsSync(folder.path)) {
    return;
  }
  const names = readdirSync(folder.path);
  const empty = (name: string): boolean =>
    TOLD.test(name) || (name.endsWith('.trace') && isWithoutHeader(join(folder.path, name)));
  if (names.every(empty)) {
    for (const name of names) {
      rmSync(join(folder.path, name), { force: true });
    }
    if (folder.made) {
      rmdirSync(folder.path);
    }
  }
}

function takeFolder(wanted: string): RecordingFolder {
  makeParent(wanted);
  for (let number = 1; number <= NUMBER_MAX; number++) {
    const path = number === 1 ? wanted : `${wanted}-${number}`;
    try {
      mkdirSync(path);
      return { path, made: true };
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) {
        throw writeFailure(error, path);
      }
    }
    if (isEmptyFolder(path)) {
      return { path, made: false };
    }
  }
  throw new Failure('cannotWrite', `${NUMBER_MAX} recordings exist already`, wanted);
}

function makeParent(wanted: string): void {
  try {
    mkdirSync(resolve(wanted, '..'), { recursive: true });
  } catch (error) {
    throw hasCode(error, 'EEXIST')
      ? new Failure('cannotWrite', 'cannot write: not a folder', resolve(wanted, '..'))
      : writeFailure(error, wanted);
  }
}

function isEmptyFolder(path: string): boolean {
  try {
    return readdirSync(path).length === 0;
  } catch (error) {
    if (hasCode(error, 'ENOTDIR') || hasCode(error, 'EACCES')) {
      return false;
    }
    throw writeFailure(error, path);
  }
}

function checkFreeSpace(folder: string): void {
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize < FREE_BYTES_MIN) {
    throw new Failure('diskFull', 'disk full: less than 16 MB free', folder);
  }
}
