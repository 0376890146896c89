// Where V8's helpers of a service run that shares its one core with others like it.
//
// They compile and collect on cores of their own where there are any. On the loop's they decide the
// tail: four that compile for two hundred ms leave it a fifth of its core (`../v8-threads.mjs`),
// and at the priority that everything goes before (`SCHED_IDLE`) a loop still waited for up to a
// tenth of a second while they had it, in ticks of 10 ms. So they have another core here, as they
// would on a machine with some, and give way there to what it is for. Not beside collections on
// several threads: in a pause the loop would wait for a helper that gets no core.
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
 * By `where`: `ordinary` leaves them as they are, `yield` lets the loop, and all else, go before
 * them, and `cpu:1` has them do so on that CPU instead of the loop's. Throws for another word.
 */
exports.placeV8Workers = (where) => {
  if (where === 'ordinary') return;
  const [, cpu] = /^(?:yield|cpu:(\d+))$/.exec(where) ?? [null, null];
  if (cpu === null) throw new Error(`V8_HELPERS is ${where}, not ordinary, yield or cpu:1`);
  for (const thread of helpers()) {
    execFileSync('chrt', ['--idle', '--pid', '0', thread]);
    if (cpu !== undefined) execFileSync('taskset', ['--pid', '--cpu-list', cpu, thread]);
  }
};
