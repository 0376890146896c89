/**
 * Recordings that are drawn: what happened, and what the page must say of it, is known to the
 * nanosecond. Notation: `crates/testkit/src/lib.rs`, with percent-encoded texts.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { builtExample } from './built-example.mjs';

/** Writes a recording of a drawing below `cwd`; its folder. */
export function drawRecording(cwd, name, lines) {
  const drawing = join(cwd, `${name}.txt`);
  const folder = join(cwd, name);
  writeFileSync(drawing, lines);
  execFileSync(builtExample('draw_recording'), [drawing, folder]);
  return folder;
}

/** Writes a recording of so many events below `cwd`; its folder. */
export function growRecording(cwd, events) {
  const folder = join(cwd, `grown-${events}`);
  execFileSync(builtExample('grow_recording'), [String(events), folder]);
  return folder;
}
