/**
 * Recordings that are drawn: what happened, and what the page must say of it, is known to the
 * nanosecond. Notation: `crates/testkit/src/lib.rs`, with percent-encoded texts.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = new URL('../../..', import.meta.url).pathname;
// The profile in which `npm test` has just compiled everything.
const CARGO = ['run', '--profile', 'tested', '--quiet', '--locked', '-p', 'bobtail-breakdown'];

function example(name, args) {
  const command = [...CARGO, '--example', name, '--', ...args];
  return execFileSync('cargo', command, { cwd: ROOT, encoding: 'utf8' });
}

/** Writes a recording of a drawing below `cwd`; its folder. */
export function drawRecording(cwd, name, lines) {
  const drawing = join(cwd, `${name}.txt`);
  const folder = join(cwd, name);
  writeFileSync(drawing, lines);
  example('draw_recording', [drawing, folder]);
  return folder;
}

/** Writes a recording of so many events below `cwd`; its folder. */
export function growRecording(cwd, events) {
  const folder = join(cwd, `grown-${events}`);
  example('grow_recording', [String(events), folder]);
  return folder;
}
