// What is asked of this server, and what a recording of it must say.
import { computing, sum } from '../harness/work.mjs';

/** Pauses as V8 prints them (--trace-gc): `Scavenge 3.1 (4.0) -> 2.9 (5.0) MB, 1.2 / 0 ms`. */
function traced(stdout) {
  const line =
    / ms: (?:Incremental )?(Scavenge|Mark-Compact)\b.* MB, (?:pooled: .* MB, )?([\d.]+) \/ .* ms/g;
  return [...stdout.matchAll(line)].map(([, kind, ms]) => ({ kind, ns: ms * 1e6 }));
}

/** Collections of a kind: V8's own sum of the last ones, which are those that were recorded. */
function ofKind({ stdout, report, delayNs }, kind, word) {
  const recorded = report.gc.find((one) => one.kind === word);
  const theirs = traced(stdout).filter((pause) => pause.kind === kind);
  if (!recorded || recorded.pauses > theirs.length) throw new Error(`${word}: not as V8 traced`);
  const last = theirs.slice(theirs.length - recorded.pauses);
  const ns = sum(last.map((pause) => pause.ns));
  // V8 prints hundredths of a millisecond and begins to count a little later; whoever else had the
  // CPU between the two looks at the clock makes a pause longer for the recorder alone.
  const rangeNs = [0.98 * ns - 10_000 * last.length, 1.05 * ns + 60_000 * last.length + delayNs];
  return { recorded, rangeNs };
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

export default {
  nodeFlags: ['--trace-gc', '--expose-gc', '--max-semi-space-size=2'],
  drive: [
    { repeat: 40, send: [{ path: '/churn' }], gapMs: 1 },
    { repeat: 5, send: [{ path: '/full' }], gapMs: 1 },
  ],
  routes: { 'GET /churn': computing, 'GET /full': computing },
  classes({ requests, report, stdout }) {
    const delayNs = sum(requests.map((request) => request.delayNs));
    const kinds = [
      ofKind({ stdout, report, delayNs }, 'Scavenge', 'scavenge'),
      ofKind({ stdout, report, delayNs }, 'Mark-Compact', 'mark-compact'),
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
