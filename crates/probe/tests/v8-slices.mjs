// Reads what V8 itself says of its work: its trace events, and the lines of `--trace-gc`.
//
// Trace events and not those lines alone: a line leaves out what V8 does before and after what it
// calls the pause, and says nothing of when that was. The slices carry begin and end on
// CLOCK_MONOTONIC, so each is compared with the one record of the same moment.

import fs from 'node:fs';
import path from 'node:path';

/** Flags of Node that have V8 write its slices into `out`. */
export function sliceFlags(out) {
  // Not `disabled-by-default-v8.gc`: it walks the heap within each pause, and it keeps Node 26
  // from printing the lines of --trace-gc.
  const categories = ['--trace-event-categories', 'v8,devtools.timeline'];
  return [...categories, '--trace-event-file-pattern', path.join(out, 'v8-slices.log')];
}

/**
 * The slices of the process's first thread, by their begin.
 * @returns {{name: string, beginNs: number, endNs: number}[]} CLOCK_MONOTONIC, whole microseconds
 */
export function readSlices(out) {
  const { traceEvents } = JSON.parse(fs.readFileSync(path.join(out, 'v8-slices.log'), 'utf8'));
  const slices = [];
  const open = [];
  for (const { ph, name, ts, dur, pid, tid } of traceEvents) {
    if (tid !== pid) continue;
    if (ph === 'X') slices.push({ name, beginNs: 1e3 * ts, endNs: 1e3 * (ts + dur) });
    if (ph === 'B') open.push({ name, beginNs: 1e3 * ts });
    if (ph === 'E') slices.push({ ...open.pop(), endNs: 1e3 * ts });
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
