// The same piece of the services' work, whenever it is told to; answers with the CPU time that it
// took, in ms.
'use strict';

const { fillCache, kindOf, work } = require('./services/work.cjs');

/** 0.2 s or so. */
const REQUESTS = 2_000;
/** Until it is compiled as it stays. */
const WARM_UNITS = 10;

function unitMs() {
  const before = process.cpuUsage();
  for (let n = 0; n < REQUESTS; n += 1) JSON.stringify(work(kindOf((n * 37) % 1000)));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

fillCache();
for (let unit = 0; unit < WARM_UNITS; unit += 1) unitMs();
process.on('message', () => process.send(unitMs()));
