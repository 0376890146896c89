/** What the kernel tells of a process in one line (`/proc/PID/stat`). */
import { readdirSync, readFileSync } from 'node:fs';

/** Its fields from the third on, by name. */
export interface ProcessStat {
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** The group that its terminal has in the foreground. */
  readonly foreground: number;
  /** When it started, in ticks since boot. */
  readonly startTicks: string;
}

/** All processes that can be seen. */
export function processIds(proc = '/proc'): number[] {
  return readdirSync(proc)
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

const START_FIELD = 19;

/** Of a process; undefined where there is none, or none that may be looked at. */
export function processStat(pid: number | 'self', proc = '/proc'): ProcessStat | undefined {
  let line: string;
  try {
    line = readFileSync(`${proc}/${pid}/stat`, 'latin1');
  } catch {
    // It has ended meanwhile, or is somebody else's.
    return undefined;
  }
  // After the name of the command, which may hold anything but ends at the last parenthesis.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  const [state = '', parent, group, session, , foreground] = fields;
  return {
    state,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    foreground: Number(foreground),
    startTicks: fields[START_FIELD] ?? '',
  };
}
