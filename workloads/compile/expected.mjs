// What is asked of this server, and what a recording of it must say.
import { computing, sum } from '../harness/work.mjs';

const ROUTES = ['/script', '/eval', '/lazy'];

export default {
  // V8's own threads would be in the CPU time of the process, and not on the loop; and what V8
  // optimizes on the loop instead would be beside the planted. Few collections: a large new space.
  nodeFlags: [
    '--single-threaded',
    '--no-opt',
    '--no-maglev',
    '--min-semi-space-size=64',
    '--max-semi-space-size=64',
  ],
  recordFlags: ['--not-running'],
  drive: ROUTES.map((path) => ({ repeat: 6, send: [{ path }], gapMs: 1 })),
  routes: Object.fromEntries(ROUTES.map((path) => [`GET ${path}`, computing])),
  /** The call that compiles, by its CPU time. */
  classes({ requests }) {
    return ROUTES.map((path) => {
      const ofRoute = requests.filter((request) => request.path === path);
      const total = (name) => sum(ofRoute.map(({ work }) => work[name]));
      const cpuNs = sum(ofRoute.map(({ cpu }) => cpu.compile));
      return {
        what: `jit of ${path}`,
        actualNs: total('jitNs'),
        // Of the call, making the objects around the code, and what it runs, is native; collections
        // are gc. Beyond it, a little is compiled of the code that makes the source.
        rangeNs: [0.85 * cpuNs - total('gcNs'), 1.05 * cpuNs + 0.5e6 * ofRoute.length],
        ofNs: total('wholeNs') - total('notRunningNs'),
      };
    });
  },
};
