// A route that computes for longer than its process gets the CPU at a stretch.
'use strict';

const http = require('node:http');
const { makeCpuScarce } = require('../plant/scarce-cpu.cjs');
const truth = require('../plant/truth.cjs');

const COMPUTE_NS = 30e6;
const how = makeCpuScarce();

/** Arithmetic and nothing else, for a while. */
function count(turns) {
  let sum = 0;
  for (let i = 0; i < turns; i += 1) sum = (sum * 31 + i) | 0;
  return sum;
}

function compute() {
  const untilNs = truth.cpuNs() + COMPUTE_NS;
  while (truth.cpuNs() < untilNs) count(100_000);
}

const server = http.createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/compute') {
    planted.how = how;
    const before = { delayNs: truth.runDelayNs(), switches: truth.switches() };
    planted.note('compute');
    planted.spend('compute', compute);
    planted.note('computed');
    planted.delayNs = truth.runDelayNs() - before.delayNs;
    planted.switches = truth.switches() - before.switches;
  }
  planted.answer(response);
});
truth.listen(server);
