// What is asked of this server, and what a recording of it must say.
import { computing, sum } from '../harness/work.mjs';

export default {
  // V8's own threads would be in the CPU time of the process, and not on the loop.
  nodeFlags: ['--single-threaded'],
  recordFlags: ['--not-running'],
  variants: [{}, { PLANTED_CPU: 'competitor' }],
  drive: [{ repeat: 6, send: [{ path: '/compute' }], gapMs: 1 }],
  routes: { 'GET /compute': computing },
  /** How long the computation took, less the CPU time it had. */
  classes({ requests }) {
    const total = (name) => sum(requests.map(({ work }) => work[name]));
    const awayNs = ({ marks, cpu }) => marks.computed - marks.compute - cpu.compute;
    const ofComputingNs = sum(requests.map(awayNs));
    // Before and after it the process may have to wait, too.
    const aroundNs = ({ marks, work }) => work.wholeNs - (marks.computed - marks.compute);
    return [
      {
        what: `not running by ${requests[0].how}`,
        actualNs: total('notRunningNs'),
        rangeNs: [0.95 * ofComputingNs, 1.02 * ofComputingNs + sum(requests.map(aroundNs))],
        ofNs: total('wholeNs'),
      },
    ];
  },
};
