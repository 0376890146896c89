// V8's helpers of a service run only while its loop does not want the core.
//
// They compile and collect on cores of their own where there are any. Here they share the loop's:
// four that compile for two hundred ms leave it a fifth of its core meanwhile, and three quarters
// of all long waits were in such turns (`../v8-threads.mjs`). Not beside collections on several
// threads: in a pause the loop would wait for a helper that gets no core. By the scheduler's
// policy, not by niceness: a nice thread keeps the core for the rest of its slice.
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

/** Lets the loop, and all else, go before them. */
exports.helpersYield = () => {
  for (const thread of helpers()) execFileSync('chrt', ['--idle', '--pid', '0', thread]);
};
