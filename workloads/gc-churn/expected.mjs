// What is asked of this server, and what a recording of it must say.
import { COLLECTIONS } from '../../crates/probe/tests/v8-slices.mjs';
import { computing, sum } from '../harness/work.mjs';

/** Two readings in whole microseconds, and what the scales of two clocks may differ by. */
const ROUNDING_NS = 3_000;
const SCALE = 0.001;

/**
 * The bounds of a collection by V8's own slices of the callbacks before and after it, in which the
 * recorder looks at the clock: so they hold whatever else had the CPU between two looks.
 */
function bounds(slices, { beginNs, endNs }) {
  const before = (slice) => /^V8\.GC_HEAP_EXTERNAL_PROLOGUE$/.test(slice.name);
  const after = (slice) => /^V8\.GC_HEAP_EXTERNAL_EPILOGUE$/.test(slice.name);
  const prologue = slices.findLast((slice) => before(slice) && slice.endNs <= beginNs);
  const epilogue = slices.find((slice) => after(slice) && slice.beginNs >= endNs);
  const least = epilogue.beginNs - prologue.endNs;
  const most = epilogue.endNs - prologue.beginNs;
  return [(1 - SCALE) * least - ROUNDING_NS, (1 + SCALE) * most + ROUNDING_NS];
}

/** Of the program's own collections. */
const ASKED = 'mark-compact (asked for)';

/** Collections of a kind: V8's own sum of the last ones, which are those that were recorded. */
function ofKind({ slices, report }, name, word) {
  const ofIt = report.gc.filter(({ kind }) => kind === word || kind.startsWith(`${word} (`));
  const recorded = ofIt.length > 0 && {
    kind: word,
    pauses: sum(ofIt.map(({ pauses }) => pauses)),
    totalNs: sum(ofIt.map(({ totalNs }) => totalNs)),
  };
  const theirs = slices.filter((slice) => slice.name === name);
  if (!recorded || recorded.pauses > theirs.length) throw new Error(`${word}: not as V8 traced`);
  const last = theirs.slice(theirs.length - recorded.pauses).map((one) => bounds(slices, one));
  return { recorded, rangeNs: [0, 1].map((end) => sum(last.map((range) => range[end]))) };
}

/** What the report says that the longest collections did to requests is what explain says. */
function delays({ pauses }, requests) {
  const byId = new Map(requests.map(({ explained }) => [explained.id, explained]));
  const victims = pauses.flatMap((pause) =>
    pause.requests
      .filter(({ id }) => byId.has(id))
      .map(({ id, delayNs }) => ({ number: pause.number, delayNs, explained: byId.get(id) })),
  );
  const partNs = ({ number, explained }) => {
    const culprits = explained.segments.flatMap((segment) => segment.culprits);
    return sum(culprits.filter((c) => c.pause?.number === number).map((c) => c.durationNs));
  };
  const explainedNs = sum(victims.map(partNs));
  return {
    what: `what ${pauses.length} collections did to ${victims.length} requests`,
    actualNs: sum(victims.map(({ delayNs }) => delayNs)),
    rangeNs: victims.length > 0 ? [explainedNs, explainedNs] : [1, 0],
  };
}

/** What is missing of the collections that /full asked for: each, with the line of the call. */
function unasked({ requests, report }) {
  const full = requests.filter(({ explained }) => explained.route === 'GET /full');
  const wrong = full.flatMap(({ explained }) => {
    const culprits = explained.segments.flatMap((segment) => segment.culprits);
    const asked = culprits.filter(({ type }) => type === `gc ${ASKED}`);
    const isNamed = asked.some(
      ({ route, location }) => route === 'GET /full' && /server\.cjs:\d+/.test(location ?? ''),
    );
    return isNamed ? [] : [`${explained.id}: ${JSON.stringify(culprits)} has no call of gc()`];
  });
  const pauses = report.gc.find(({ kind }) => kind === ASKED)?.pauses ?? 0;
  if (pauses < full.length) wrong.push(`${pauses} of ${full.length} collections were asked for`);
  const others = requests.filter(({ explained }) => explained.route === 'GET /churn');
  const types = others.flatMap(({ explained }) =>
    explained.segments.flatMap(({ culprits }) => culprits.map(({ type, event }) => [type, event])),
  );
  const foreign = types.filter(([type]) => type === `gc ${ASKED}`);
  if (foreign.length > 0) wrong.push(`/churn asks for no collection: ${JSON.stringify(foreign)}`);
  return wrong;
}

export default {
  unsaid: unasked,
  nodeFlags: ['--expose-gc', '--max-semi-space-size=2'],
  slices: COLLECTIONS,
  drive: [
    { repeat: 40, send: [{ path: '/churn' }], gapMs: 1 },
    { repeat: 5, send: [{ path: '/full' }], gapMs: 1 },
  ],
  routes: { 'GET /churn': computing, 'GET /full': computing },
  classes({ requests, report, slices }) {
    const kinds = [
      ofKind({ slices, report }, 'MinorGC', 'scavenge'),
      ofKind({ slices, report }, 'MajorGC', 'mark-compact'),
    ];
    const ofNs = sum(requests.map(({ work }) => work.wholeNs));
    const each = kinds.map(({ recorded, rangeNs }) => ({
      what: recorded.kind,
      actualNs: recorded.totalNs,
      rangeNs,
      ofNs,
    }));
    return [...each, { ...delays(report, requests), ofNs }];
  },
};
