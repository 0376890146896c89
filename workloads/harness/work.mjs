// Compares time by work class with what was measured of it independently in the same run; pure.
//
// A share is not known in advance: how long a collection or a compilation takes depends on the
// machine. So a cause says how long the service itself, V8 or the kernel measured the class, as a
// range, and what the recording says must lie in it, in time and as a share of queue + exec.

const CLASSES = ['nativeNs', 'gcNs', 'jitNs', 'icNs', 'loopNs', 'notRunningNs'];

/** A route that only computes; its time by class is what matters. */
export const computing = {
  path: [
    { exec: 'read', rangeNs: ({ marks }) => [marks.end - marks.begin, marks.ended - marks.sent] },
  ],
};

/** Sums over numbers. */
export const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** Time of a request by work class, and `wholeNs`, its queue and exec. */
export function workOf(explained) {
  const held = explained.segments.filter(({ kind }) => kind === 'queue' || kind === 'exec');
  const work = Object.fromEntries(
    CLASSES.map((name) => [name, sum(held.map((segment) => segment.work[name] ?? 0))]),
  );
  return { ...work, wholeNs: sum(held.map(({ durationNs }) => durationNs)) };
}

/**
 * @param {{what: string, actualNs: number, rangeNs: [number, number], ofNs: number}[]} classes
 *   `ofNs` is the queue and exec that both are shares of
 * @returns `told`: each share beside the expected, and by what it may be multiplied before it is
 *   wrong; `wrong`: those outside of their range
 */
export function compareClasses(classes) {
  const lines = classes.map(({ what, actualNs, rangeNs: [lowNs, highNs], ofNs }) => {
    const share = (ns) => `${((100 * ns) / ofNs).toFixed(1)} %`;
    const factor = (ns) => `x${(ns / actualNs).toFixed(2)}`;
    const judged = `${what}: ${share(actualNs)}, expected ${share(lowNs)} to ${share(highNs)}`;
    const text = `${judged} (wrong below ${factor(lowNs)}, above ${factor(highNs)})`;
    return { text, isWrong: !(actualNs >= lowNs && actualNs <= highNs) };
  });
  const of = (wanted) => lines.filter(({ isWrong }) => isWrong === wanted).map(({ text }) => text);
  return { told: of(false), wrong: of(true) };
}
