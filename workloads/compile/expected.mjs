// What is asked of this server, and what a recording of it must say.
import { COMPILATIONS, outermost } from '../../crates/probe/tests/v8-slices.mjs';
import { computing, sum } from '../harness/work.mjs';

const ROUTES = ['/script', '/eval', '/lazy'];

/**
 * CPU time and duration of what V8 compiles within a request, by its own slices, collections left
 * out. The recorder leaves out, too, when the thread was not running.
 */
function compiled(slices, { marks }) {
  const within = slices.filter(
    ({ beginNs, endNs }) => beginNs >= marks.begin && endNs <= marks.ended,
  );
  const all = outermost(within, /^V8\.(Compile|Parse)/);
  const isIn = (inner) => (outer) => inner.beginNs >= outer.beginNs && inner.endNs <= outer.endNs;
  const collections = outermost(within, /^(Minor|Major)GC$|^V8\.GCIncrementalMarking/);
  const inside = collections.filter((one) => all.some(isIn(one)));
  const total = (of) => sum(all.map(of)) - sum(inside.map(of));
  return {
    cpuNs: total(({ cpuNs }) => cpuNs),
    durationNs: total(({ beginNs, endNs }) => endNs - beginNs),
  };
}

export default {
  // V8's slices are told by its threads, and what V8 optimizes would be beside the planted. Few
  // collections: a large new space.
  nodeFlags: [
    '--single-threaded',
    '--no-opt',
    '--no-maglev',
    '--min-semi-space-size=64',
    '--max-semi-space-size=64',
  ],
  recordFlags: ['--not-running'],
  slices: COMPILATIONS,
  drive: ROUTES.map((path) => ({ repeat: 6, send: [{ path }], gapMs: 1 })),
  routes: Object.fromEntries(ROUTES.map((path) => [`GET ${path}`, computing])),
  classes({ requests, slices }) {
    return ROUTES.map((path) => {
      const ofRoute = requests.filter((request) => request.path === path);
      const total = (name) => sum(ofRoute.map(({ work }) => work[name]));
      const theirs = ofRoute.map((request) => compiled(slices, request));
      const cpuNs = sum(theirs.map((one) => one.cpuNs));
      // What the host took is in no CPU time, and in the recording: it stands in V8's durations, of
      // which what the recorder left out is at most all that it left out.
      const runningNs = sum(theirs.map((one) => one.durationNs)) - total('notRunningNs');
      return {
        what: `jit of ${path}`,
        actualNs: total('jitNs'),
        // The recorder's hooks lie around V8's slices; what V8 only parses or installs has none.
        rangeNs: [0.93 * cpuNs, 1.1 * Math.max(cpuNs, runningNs)],
        ofNs: total('wholeNs') - total('notRunningNs'),
      };
    });
  },
};
