// What is asked of this server, and what a recording of it must say.
import { computing, sum } from '../harness/work.mjs';

export default {
  // V8's own threads would be in the CPU time of the process, and not on the loop.
  // Few collections: a large new space.
  nodeFlags: ['--single-threaded', '--min-semi-space-size=64', '--max-semi-space-size=64'],
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
        // What is not in it: the look into V8's cache of shapes and the entry into C++, which are
        // native; and collections. What else misses in these requests is next to nothing.
        rangeNs: [0.93 * missesNs - total('gcNs'), 1.06 * missesNs],
        ofNs: total('wholeNs') - total('notRunningNs'),
      },
    ];
  },
};
