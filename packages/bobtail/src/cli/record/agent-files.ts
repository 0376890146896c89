/**
 * What the agents of a recording tell: which processes are recorded, and which listen.
 *
 * Files and not a socket or an IPC channel, because they outlive a killed process and reach through
 * npm, shells and cluster primaries without any of them taking part.
 */
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HeapFacts } from '../../agent/heap';
import type { Counted, Throttling } from '../../cgroup/throttling';
import { hasCode } from '../failure';
import type { V8ThreadsFacts } from './v8-threads';

/** One probe mechanism and whether it works in that process. */
export interface Mechanism {
  readonly name: string;
  readonly ok: boolean;
  readonly reason?: string;
}

/** `process-<pid>-<thread>.json`. */
export interface RecordedProcess {
  readonly pid: number;
  readonly thread: number;
  readonly node: string;
  readonly execPath?: string;
  readonly mechanisms: readonly Mechanism[];
  readonly heap?: HeapFacts;
  /** Counts of its groups when the recording started, and where they were read. */
  readonly cpuStat?: readonly Counted[];
  /** How much its group was throttled since; null when unknown. */
  readonly throttled?: Throttling | null;
  /** What V8's own threads did meanwhile; null when unknown, or where there are CPUs for all. */
  readonly v8Threads?: V8ThreadsFacts | null;
}

/** `listening-<pid>.json`. */
export interface Listening {
  readonly pid: number;
  readonly port?: number;
  readonly path?: string;
  readonly address?: string;
  /** Whether it is an HTTP server's; another one's may be that of a debugger or of metrics. */
  readonly http: boolean;
}

/** All recorded loops, by pid and thread. */
export function readRecordedProcesses(folder: string): RecordedProcess[] {
  return readAll<RecordedProcess>(folder, /^process-\d+-\d+\.json$/)
    .filter((one) => Array.isArray(one.mechanisms))
    .sort((a, b) => a.pid - b.pid || a.thread - b.thread);
}

/** Replaces a process file by one with what only the recorder knows, when its process has ended. */
export function rewriteProcessFile(folder: string, content: RecordedProcess): void {
  const path = join(folder, `process-${content.pid}-${content.thread}.json`);
  writeFileSync(`${path}.tmp`, `${JSON.stringify(content)}\n`);
  renameSync(`${path}.tmp`, path);
}

/** Event loops that were not recorded because the recording had reached its bound. */
export function countRefusedLoops(folder: string): number {
  const refused = readAll<{ loops: number }>(folder, /^refused-\d+\.json$/);
  return refused.reduce((sum, { loops }) => sum + loops, 0);
}

/** All listening processes: those that serve HTTP first, then by pid (folders have no order). */
export function readListening(folder: string): Listening[] {
  return readAll<Listening>(folder, /^listening-\d+\.json$/).sort(
    (a, b) => Number(b.http) - Number(a.http) || a.pid - b.pid,
  );
}

/** `127.0.0.1:3000`, `port 3000` or a socket's path. */
export function describeListening(listening: Listening): string {
  return listening.port === undefined ? (listening.path ?? '?') : `port ${listening.port}`;
}

function readAll<T>(folder: string, pattern: RegExp): T[] {
  const found: T[] = [];
  for (const name of namesIn(folder)) {
    if (pattern.test(name)) {
      const content = readJson<T>(join(folder, name));
      if (content !== undefined) {
        found.push(content);
      }
    }
  }
  return found;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) {
      return [];
    }
    throw error;
  }
}

/** A file that is being written or was cut off by a full disk is as good as none. */
function readJson<T>(path: string): T | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as T;
  } catch {
    return undefined;
  }
}
