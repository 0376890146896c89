// What the threads of a service, and those it asks, do while it answers nobody for long.
//
// Once in some hundreds of turns nobody is answered for a tenth of a second or two, whatever the
// arm, while no CPU stands still. That decides p99.9 of a round, so it is looked at while it lasts.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { descendants, threadsOf } from '../harness/cpu.mjs';
import { databases } from './databases.mjs';

/** Longer than a collection of the whole heap takes. */
export const OVERDUE_MS = 90;

/** A file of procfs; `-` where its thread has ended or may not be looked at. */
function read(path) {
  try {
    return readFileSync(path, 'latin1').trim();
  } catch (error) {
    if (!['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(error.code)) throw error;
    return '-';
  }
}

/** Each thread of a process: name, state, what it waits in, CPU time. */
function lookAt(pid) {
  return threadsOf(pid).map((thread) => {
    const place = `/proc/${pid}/task/${thread}`;
    const [, , state] = /^(\d+) \(.*\) (\S)/.exec(read(`${place}/stat`)) ?? [];
    const [ranNs, waitedNs] = read(`${place}/schedstat`).split(' ').map(Number);
    const [call] = read(`${place}/syscall`).split(' ');
    const name = read(`${place}/comm`);
    return { thread: Number(thread), name, state, call, ranNs, waitedNs };
  });
}

/** Threads of a process and of those it started. */
export function threadsNow(pid) {
  return [pid, ...descendants(pid)].flatMap(lookAt);
}

/**
 * Processes of the databases that have something in hand: PostgreSQL writes what each does into
 * its title, and most are `idle`. Whose title tells nothing is told in any case.
 */
export function databasesNow() {
  return databases().flatMap((pid) => {
    const [command] = read(`/proc/${pid}/cmdline`).replace(/\0+$/, '').split('\0');
    const title = command.startsWith('/') ? basename(command) : command;
    if (title.endsWith(' idle')) return [];
    return lookAt(pid).map((thread) => ({ ...thread, title }));
  });
}
