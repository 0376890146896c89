/**
 * The small JSON files that a recorded process leaves in the recording folder.
 *
 * Each is written beside its name and then renamed, so that the command line, which polls for
 * them, never reads half a file.
 */

import { existsSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { readCounts } from './cgroup';
import { readHeapFacts } from './heap';
import { knownMechanisms, reasonOf } from './mechanisms';

const STDERR = 2;

/** Where a server listens: the result of `server.address()`. */
export type Address = string | { port: number; address: string } | null;

/** What holds for the whole recording; read at the first writing. */
let facts: object | undefined;

/**
 * Writes `process-<pid>-<thread>.json`: who is recorded, and with which mechanisms. `throttled` is
 * the command line's to fill in, when the process has ended.
 */
export function writeProcess(folder: string, thread: number): void {
  facts ??= { heap: readHeapFacts(), cpuStat: readCounts(), throttled: null };
  write(folder, `process-${process.pid}-${thread}.json`, {
    pid: process.pid,
    thread,
    node: process.version,
    execPath: process.execPath,
    argv: process.argv,
    ...facts,
    mechanisms: knownMechanisms(),
  });
}

/**
 * Writes `listening-<pid>.json`: the first address this process listens on, or the first one that
 * is of an HTTP server once there is one. All threads of the process share the file.
 */
export function writeListening(folder: string, address: Address, http: boolean): void {
  const name = `listening-${process.pid}.json`;
  const path = join(folder, name);
  if (existsSync(path) && (!http || isOfHttp(path))) return;
  const place =
    typeof address === 'string' || address === null
      ? { path: address, address: null }
      : { port: address.port, address: address.address };
  write(folder, name, { pid: process.pid, ...place, http, atNs: Number(process.hrtime.bigint()) });
}

function isOfHttp(path: string): boolean {
  return (JSON.parse(readFileSync(path, 'utf8')) as { http: boolean }).http;
}

let warned = false;

/** One line on stderr, the first time only: what follows has the same cause. */
export function warn(text: string): void {
  if (warned) return;
  warned = true;
  try {
    writeSync(STDERR, `bobtail: ${text}\n`);
  } catch (error) {
    // A closed or full stderr: the reason is in the process file already.
    void error;
  }
}

function write(folder: string, name: string, content: unknown): void {
  const path = join(folder, name);
  // Threads of one process write the same name.
  const draft = `${path}.${threadId}.tmp`;
  try {
    writeFileSync(draft, `${JSON.stringify(content)}\n`);
    renameSync(draft, path);
  } catch (error) {
    warn(`cannot write ${name}: ${reasonOf(error)} (${folder})`);
  }
}
