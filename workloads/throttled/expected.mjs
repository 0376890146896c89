// What is asked of this server, and what a recording of it must say.
import { computing } from '../harness/work.mjs';

const REQUESTS = 12;
/**
 * Those that fit best. Where the hypervisor takes the processor between the kernel's decision to
 * switch and its record of it, the time is in the sum of delays and in no record, or the other way
 * round, and no clock of this guest tells which. That is some microseconds in a switch, so it hits
 * single requests. What a recorder gets wrong it gets wrong in each: they are all the same.
 */
const JUDGED = 8;
/** From the kernel's decision to switch to its record of it, and back. */
const SWITCH_NS = 50_000;

/** 5 %, but what is short cannot be told that well. */
function toleranceNs(ns, switches) {
  return Math.max(0.05 * ns, 300_000) + SWITCH_NS * switches;
}

/** Both classes of one request, against the kernel's own sums for its thread. */
function judge({ work, marks, cpu, delayNs, switches, how }) {
  const awayNs = marks.computed - marks.compute - cpu.compute;
  // A kernel that keeps no sum of delays is believed to run what could run but for this.
  const expectedNs = delayNs || awayNs;
  // What the hypervisor took is neither CPU time nor a delay. It is told as native, or as not
  // running where it fell between the records of a switch.
  const stolenNs = Math.max(0, awayNs - expectedNs);
  // Before and after the computation the process may have to wait and compute, too.
  const aroundNs = work.wholeNs - (marks.computed - marks.compute);
  const ofV8Ns = work.gcNs + work.jitNs + work.icNs;
  const cpuTolNs = toleranceNs(cpu.compute, switches);
  const awayTolNs = toleranceNs(expectedNs, switches);
  const native = {
    what: 'native',
    actualNs: work.nativeNs,
    // What V8 did meanwhile is CPU time, too, but not native.
    rangeNs: [cpu.compute - cpuTolNs - ofV8Ns, cpu.compute + cpuTolNs + stolenNs + aroundNs],
    ofNs: work.wholeNs,
  };
  const notRunning = {
    what: `not running by ${how}`,
    actualNs: work.notRunningNs,
    rangeNs: [expectedNs - awayTolNs, expectedNs + awayTolNs + stolenNs + aroundNs],
    ofNs: work.wholeNs,
  };
  return [native, notRunning];
}

function offNs(classes) {
  const offs = classes.map(({ actualNs, rangeNs }) => [
    rangeNs[0] - actualNs,
    actualNs - rangeNs[1],
  ]);
  return Math.max(...offs.flat());
}

export default {
  // V8's own threads would be in the CPU time of the process, and not on the loop.
  nodeFlags: ['--single-threaded'],
  recordFlags: ['--not-running'],
  variants: [{}, { PLANTED_CPU: 'competitor' }],
  drive: [{ repeat: REQUESTS, send: [{ path: '/compute' }], gapMs: 1 }],
  routes: { 'GET /compute': computing },
  /** The cure, though the group with the quota is gone with its process. */
  unsaid({ requests, report }) {
    if (requests.length === 0 || requests[0].how !== 'quota') return [];
    const cure = report.findings.find(({ code }) => code === 'not-running')?.action;
    return /^raise the CPU quota/.test(cure) ? [] : [`not to raise the quota but: ${cure}`];
  },
  classes({ requests }) {
    const judged = requests.map(judge).toSorted((a, b) => offNs(a) - offNs(b));
    return judged.slice(0, JUDGED).flat();
  },
};
