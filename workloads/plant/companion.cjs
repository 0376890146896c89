// What has to outlast a planted server, or to run beside it: `group FOLDER` removes its control
// group when it has ended, `spin` uses all of the CPU until then.
'use strict';

const fs = require('node:fs');

const [what, folder] = process.argv.slice(2);
const RETRY_MS = 20;

/** A group is busy until the last of its processes is gone. */
function removeGroup() {
  try {
    fs.rmdirSync(folder);
  } catch (error) {
    if (error.code !== 'EBUSY') throw error;
    setTimeout(removeGroup, RETRY_MS);
  }
}

function spin() {
  const untilNs = process.hrtime.bigint() + 5_000_000n;
  while (process.hrtime.bigint() < untilNs);
  setImmediate(spin);
}

for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => undefined);
process.stdin.on('end', what === 'group' ? removeGroup : () => process.exit()).resume();
if (what === 'spin') spin();
