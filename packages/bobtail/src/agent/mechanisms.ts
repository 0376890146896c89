/**
 * Which parts of the agent are at work in this thread, and why others are not.
 *
 * Every part is optional: one that fails to install must neither break the application nor the
 * other parts, but has to be told in the report.
 */

import type { Mechanism } from './session';

const mechanisms: Mechanism[] = [];
/** What the parts of the native probe are called beside those of the agent. */
const PROBE_NAMES = new Map([
  ['loop-events', 'loop events'],
  ['pool', 'thread pool'],
  ['timers', 'runs of the timer list'],
  ['gc', 'garbage collections'],
  ['v8.gc-steps', 'steps of incremental marking'],
  ['v8.jit', 'compilation'],
  ['v8.jit-text', 'functions made of text'],
  ['v8.ic', 'inline-cache misses'],
  ['locations', 'code locations'],
  ['ready-looks', 'ready times'],
  ['not-running', 'time not running'],
]);
let onChange: () => void = () => undefined;

/** What is known so far, in the order in which it was tried. */
export function knownMechanisms(): readonly Mechanism[] {
  return mechanisms;
}

/** Calls `listener` whenever something is added. */
export function watchMechanisms(listener: () => void): void {
  onChange = listener;
}

/** Adds what the native probe told about itself. */
export function addMechanisms(more: readonly Mechanism[]): void {
  for (const one of more) note({ ...one, name: PROBE_NAMES.get(one.name) ?? one.name });
}

/** Runs `install` and notes whether it worked. */
export function attempt(name: string, install: () => void): void {
  try {
    install();
    note({ name, ok: true });
  } catch (error) {
    note({ name, ok: false, reason: reasonOf(error) });
  }
}

/** Names are unique: of what is tried again, such as a second copy of a file, a failure stays. */
function note(one: Mechanism): void {
  const known = mechanisms.findIndex(({ name }) => name === one.name);
  if (known < 0) mechanisms.push(one);
  else if (mechanisms[known]!.ok && !one.ok) mechanisms[known] = one;
  else return;
  onChange();
}

/** The one-line message of whatever was thrown. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n', 1)[0]!;
}
