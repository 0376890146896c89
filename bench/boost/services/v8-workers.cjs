// Where V8's helpers of a service run that shares its one core with others like it.
//
// They compile and collect on cores of their own where there are any. On the loop's they decide the
// tail: four that compile for two hundred ms leave it a fifth of its core (`../v8-threads.mjs`). So
// they have another core here, as they would on a machine with some.
//
// They go before the load there, which leaves out what it was late for, as real-time threads of the
// lowest priority. At the priority that everything goes before (`SCHED_IDLE`) the loop waited for
// them all the same: a collection begins when every thread that compiles has come to a safe point,
// and one that gets no core does not come there. Of 150 scavenges, 1.5 ms each, one or two lasted
// 20 to 370 ms so in most recordings of one morning, in which the loop's thread slept
// (`../starved-helpers.mjs`). At an ordinary priority beside a load of a lower one they still got
// none for 0.2 to 0.5 s in three of 4156 turns (`overdue` of the rounds of boost-6), all of
// recorded services, for the reason that `../databases.mjs` has.
'use strict';

const { execFileSync } = require('node:child_process');
const { readdirSync, readFileSync } = require('node:fs');

/**
 * Linux's name of a thread; since Node 24 V8's helpers have their own, `V8Worker` at its end. One
 * that has ended since it was listed has none.
 */
function nameOf(thread) {
  try {
    return readFileSync(`/proc/self/task/${thread}/comm`, 'utf8').trim();
  } catch (error) {
    if (error.code !== 'ENOENT' && error.code !== 'ESRCH') throw error;
    return '';
  }
}

/** V8's helpers. Throws where they have no name of their own (Node 20 and 22). */
function helpers() {
  const found = readdirSync('/proc/self/task').filter((one) => nameOf(one).endsWith('V8Worker'));
  if (found.length === 0) {
    throw new Error(`Node ${process.version} does not name V8's helpers: a Node of 24 or newer`);
  }
  return found;
}

/**
 * By `where`: `ordinary` leaves them as they are, `cpu:1` has them on that CPU instead of the
 * loop's, before all there that is no real-time thread, and `yield` and `yield,cpu:1` let all else
 * go before them there. Throws for another word.
 */
exports.placeV8Workers = (where) => {
  if (where === 'ordinary') return;
  const [, yields, cpu] = /^(yield)?,?(?:cpu:(\d+))?$/.exec(where) ?? [];
  if (yields === undefined && cpu === undefined) {
    throw new Error(`V8_HELPERS is ${where}, not ordinary, yield, cpu:1 or yield,cpu:1`);
  }
  for (const thread of helpers()) {
    if (yields !== undefined) execFileSync('chrt', ['--idle', '--pid', '0', thread]);
    if (cpu === undefined) continue;
    execFileSync('taskset', ['--pid', '--cpu-list', cpu, thread]);
    if (yields === undefined) execFileSync('chrt', ['--fifo', '--pid', '1', thread]);
  }
};
