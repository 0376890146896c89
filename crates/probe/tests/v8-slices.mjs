// Reads what V8 itself says of its work: its trace events, and the lines of `--trace-gc`.
//
// Trace events and not those lines alone: a line leaves out what V8 does before and after what it
// calls the pause, and says nothing of when that was. The slices carry begin and end on
// CLOCK_MONOTONIC, so each is compared with the one record of the same moment.

import fs from 'node:fs';
import path from 'node:path';

/**
 * Collections. Not `disabled-by-default-v8.gc`: it walks the heap within each pause, and it keeps
 * Node 26 from printing the lines of --trace-gc.
 */
export const COLLECTIONS = 'v8,devtools.timeline';
/** Collections, and what V8 compiles. */
export const COMPILATIONS = `${COLLECTIONS},disabled-by-default-v8.compile`;

/** Flags of Node that have V8 write its slices of these categories into `out` by its exit. */
export function sliceFlags(out, categories) {
  const file = ['--trace-event-file-pattern', path.join(out, 'v8-slices.log')];
  return ['--trace-event-categories', categories, ...file];
}

function ended(begin, ts, tts) {
  return { name: begin.name, ts: begin.ts, end: ts, cpu: tts - begin.tts };
}

/**
 * The slices of the process's first thread, by their begin.
 * @returns {{name: string, beginNs: number, endNs: number, cpuNs: number}[]} CLOCK_MONOTONIC, and
 *   the CPU time of the thread, all in whole microseconds
 */
export function readSlices(out) {
  const { traceEvents } = JSON.parse(fs.readFileSync(path.join(out, 'v8-slices.log'), 'utf8'));
  const slices = [];
  const open = [];
  for (const { ph, name, ts, dur, tts, tdur, pid, tid } of traceEvents) {
    if (tid !== pid) continue;
    if (ph === 'B') open.push({ name, ts, tts });
    const whole = ph === 'X' ? { name, ts, end: ts + dur, cpu: tdur } : undefined;
    const slice = ph === 'E' ? ended(open.pop(), ts, tts) : whole;
    if (slice) {
      const { end, cpu } = slice;
      slices.push({
        name: slice.name,
        beginNs: 1e3 * slice.ts,
        endNs: 1e3 * end,
        cpuNs: 1e3 * cpu,
      });
    }
  }
  return slices.sort((a, b) => a.beginNs - b.beginNs || b.endNs - a.endNs);
}

/** Of the slices whose name fits, those that lie in no other of them. */
export function outermost(slices, name) {
  let coveredNs = 0;
  return slices.filter((slice) => {
    if (!name.test(slice.name) || slice.endNs <= coveredNs) return false;
    coveredNs = slice.endNs;
    return true;
  });
}

/** The pauses that V8 prints, in their order; it prints hundredths of a millisecond. */
export function printedPauses(text) {
  const line = / ms: (?:Incremental )?(Scavenge|Mark-Compact)\b.* MB, ([\d.]+) \/ /g;
  return [...text.matchAll(line)].map(([, kind, ms]) => ({ kind, durationNs: 1e6 * ms }));
}
