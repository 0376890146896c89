// What is asked of this server, and what a recording of it must say.
import { computing } from '../harness/work.mjs';

const REQUESTS = 8;
/**
 * All but one: where the hypervisor takes the processor in the very middle of a switch, this guest
 * counts that time to either side of it, and the kernel's sums and its records differ by it.
 */
const JUDGED = REQUESTS - 1;
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
  // What the hypervisor took is neither CPU time nor a delay; it is told as native.
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
    rangeNs: [expectedNs - awayTolNs, expectedNs + awayTolNs + aroundNs],
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
  classes({ requests }) {
    const judged = requests.map(judge).toSorted((a, b) => offNs(a) - offNs(b));
    return judged.slice(0, JUDGED).flat();
  },
};
