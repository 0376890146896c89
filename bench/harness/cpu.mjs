// CPU time and cores of the processes that an experiment compares.
//
// Time comes from the scheduler's own account of every thread, not from the clock of a machine that
// is shared: a thread that waits for its core costs nothing here.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import os from 'node:os';
import { readStealNs } from '../../packages/bobtail/dist/cli/record/stolen.js';

const SPINNING_NICE = 10;
/** Core of the servers; they alone are to be here. */
export const SERVER_CORE = 0;
/** Core of everything else: the load, collectors, databases. */
export const LOAD_CORE = 1;

/** CPU nanoseconds of a thread of `pid` so far. */
export function threadNs(pid, thread) {
  return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
}

/** CPU nanoseconds of all threads of `pid` so far. */
export function cpuNs(pid) {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.reduce((total, thread) => total + threadNs(pid, thread), 0);
}

/** What `look` finds in procfs; `otherwise` where the process or thread has ended meanwhile. */
export function unlessEnded(look, otherwise) {
  try {
    return look();
  } catch (error) {
    if (!['ENOENT', 'ESRCH'].includes(error.code)) throw error;
    return otherwise;
  }
}

/** Ids of the threads of a process; none once it has ended. */
export function threadsOf(pid) {
  return unlessEnded(() => readdirSync(`/proc/${pid}/task`), []);
}

/** The name of a process or thread by its id; `-` for one that has ended meanwhile. */
export function commandOf(id) {
  return unlessEnded(() => readFileSync(`/proc/${id}/comm`, 'utf8').trim(), '-');
}

/** All processes that `pid` started, directly or not, and that are still there. */
export function descendants(pid) {
  const children = threadsOf(pid).flatMap((thread) => {
    const path = `/proc/${pid}/task/${thread}/children`;
    const told = unlessEnded(() => readFileSync(path, 'utf8').trim(), '');
    return told === '' ? [] : told.split(' ').map(Number);
  });
  return children.flatMap((child) => [child, ...descendants(child)]);
}

/** CPU nanoseconds of those threads of `pid` so far that may run on `core` alone. */
export function cpuNsOn(pid, core) {
  const here = threadsOf(pid).filter((thread) => coresOf(pid, thread) === String(core));
  return here.reduce((total, thread) => total + unlessEnded(() => threadNs(pid, thread), 0), 0);
}

/** Where a thread may run, as the kernel lists it: `0`, `0-1`; nowhere once it has ended. */
export function coresOf(pid, thread) {
  const status = unlessEnded(() => readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8'), '');
  return /^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1] ?? '';
}

/** A function that tells what the host took since now, as a share of one CPU. */
export function stolenSince() {
  const [beforeNs, sinceMs] = [readStealNs() ?? 0, performance.now()];
  return () => ((readStealNs() ?? 0) - beforeNs) / ((performance.now() - sinceMs) * 1e6);
}

/** Keeps every thread of `pid`, and what it starts from now on, on one core. */
export function pin(pid, core) {
  execFileSync('taskset', ['-acp', String(core), String(pid)], { stdio: 'ignore' });
}

/**
 * Lets databases on the load's core go first, for this process spins between two requests: they
 * waited for milliseconds behind it. What it starts from now on is to be given 0 again. Its own
 * helpers run when nobody else wants to: it waited for up to 20 ms behind V8's, which is p99.9.
 */
export function yieldToDatabases() {
  os.setPriority(0, SPINNING_NICE);
  for (const thread of readdirSync('/proc/self/task')) {
    if (Number(thread) !== process.pid) onlyWhenIdle(thread);
  }
}

/** Lets everything else go before a thread. */
export function onlyWhenIdle(thread) {
  execFileSync('chrt', ['--idle', '--pid', '0', String(thread)], { stdio: 'ignore' });
}

/**
 * Throws unless V8 collects on its one thread: whoever spins is never awake anew, so that a helper
 * that has its turn keeps the core for a whole tick of the scheduler, 4 ms, however unimportant.
 */
export function collectsAlone() {
  if (!process.execArgv.includes('--single-threaded-gc')) {
    throw new Error('start it as `node --single-threaded-gc`: helpers of V8 would delay the load');
  }
}

/** Undoes that for a process that was just started. */
export function ordinaryPriority(pid) {
  os.setPriority(pid, 0);
}

/** Keeps one thread on one core, and leaves the others of its process alone. */
export function pinThread(thread, core) {
  execFileSync('taskset', ['-cp', String(core), String(thread)], { stdio: 'ignore' });
}
