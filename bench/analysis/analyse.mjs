// Analyses one recording once, in a process of its own, and prints what it took: the peak of the
// memory is a process's for good, so each measurement needs a new one.
//
//   node bench/analysis/analyse.mjs FOLDER
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const addon = fileURLToPath(
  new URL('../../packages/bobtail/native/bobtail-binding.node', import.meta.url),
);
const { survey, report } = createRequire(import.meta.url)(addon);
const KIB = 1024;

const idleBytes = process.resourceUsage().maxRSS * KIB;
const cpuBefore = process.cpuUsage();
const startMs = performance.now();
const answer = JSON.parse(await report(await survey(process.argv[2]), '{}'));
const wallMs = performance.now() - startMs;
const cpu = process.cpuUsage(cpuBefore);
console.log(
  JSON.stringify({
    wallMs: Math.round(wallMs),
    cpuMs: Math.round((cpu.user + cpu.system) / 1000),
    idleBytes,
    peakBytes: process.resourceUsage().maxRSS * KIB,
    requests: answer.requests.count,
    truncated: answer.requests.truncated,
  }),
);
