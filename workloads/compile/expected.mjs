// What is asked of this server, and what a recording of it must say.
import { COMPILATIONS, outermost } from '../../crates/probe/tests/v8-slices.mjs';
import { computing, sum } from '../harness/work.mjs';

const ROUTES = ['/script', '/eval', '/lazy'];

/**
 * CPU time of what V8 compiles within a request, by its own slices, collections left out. CPU time
 * and not the clock: the recorder leaves out, too, when the thread was not running.
 */
function compiledNs(slices, { marks }) {
  const within = slices.filter(
    ({ beginNs, endNs }) => beginNs >= marks.begin && endNs <= marks.ended,
  );
  const cpu = (list) => sum(list.map(({ cpuNs }) => cpuNs));
  const compiled = outermost(within, /^V8\.(Compile|Parse)/);
  const isIn = (inner) => (outer) => inner.beginNs >= outer.beginNs && inner.endNs <= outer.endNs;
  const collections = outermost(within, /^(Minor|Major)GC$|^V8\.GCIncrementalMarking/);
  return cpu(compiled) - cpu(collections.filter((one) => compiled.some(isIn(one))));
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
      const theirsNs = sum(ofRoute.map((request) => compiledNs(slices, request)));
      return {
        what: `jit of ${path}`,
        actualNs: total('jitNs'),
        // The recorder's hooks lie around V8's slices; what V8 only parses or installs has none.
        rangeNs: [0.93 * theirsNs, 1.1 * theirsNs],
        ofNs: total('wholeNs') - total('notRunningNs'),
      };
    });
  },
};
