// What is asked of this server, and what a recording of it must say.
import { computing, sum } from '../harness/work.mjs';

export default {
  // V8's own threads would be in the CPU time of the process, and not on the loop.
  nodeFlags: ['--single-threaded'],
  recordFlags: ['--not-running'],
  drive: [{ repeat: 20, send: [{ path: '/strangers' }], gapMs: 1 }],
  routes: { 'GET /strangers': computing },
  /** The loop that misses less the same loop that does not, by their CPU times. */
  classes({ requests }) {
    const total = (name) => sum(requests.map(({ work }) => work[name]));
    const missesNs = sum(requests.map(({ cpu }) => cpu.misses - cpu.hits));
    return [
      {
        what: 'ic',
        actualNs: total('icNs'),
        // A quarter of it is on the way to the miss and back: the look into V8's cache of shapes,
        // the entry into C++. That is native.
        rangeNs: [0.65 * missesNs, 1.05 * missesNs],
        ofNs: total('wholeNs') - total('notRunningNs'),
      },
    ];
  },
};
