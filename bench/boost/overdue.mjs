// What the threads of a service do while it answers nobody for long.
//
// Once in some hundreds of turns nobody is answered for a tenth of a second or two, whatever the
// arm, while no CPU stands still. That decides p99.9 of a round, so it is looked at while it lasts.
import { readdirSync, readFileSync } from 'node:fs';
import { descendants } from '../harness/cpu.mjs';

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

/** Each thread of a process and of those it started: name, state, what it waits in, CPU time. */
export function threadsNow(pid) {
  return [pid, ...descendants(pid)].flatMap((one) =>
    readdirSync(`/proc/${one}/task`).map((thread) => {
      const place = `/proc/${one}/task/${thread}`;
      const [, , state] = /^(\d+) \(.*\) (\S)/.exec(read(`${place}/stat`)) ?? [];
      const [ranNs, waitedNs] = read(`${place}/schedstat`).split(' ').map(Number);
      const [call] = read(`${place}/syscall`).split(' ');
      const name = read(`${place}/comm`);
      return { thread: Number(thread), name, state, call, ranNs, waitedNs };
    }),
  );
}
