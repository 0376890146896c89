/**
 * Which parts of the agent are at work in this thread, and why others are not.
 *
 * Every part is optional: one that fails to install must neither break the application nor the
 * other parts, but has to be told in the report.
 */

import type { Mechanism } from './session';

const mechanisms: Mechanism[] = [];
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
  mechanisms.push(...more);
}

/** Runs `install` and notes whether it worked. */
export function attempt(name: string, install: () => void): void {
  try {
    install();
    mechanisms.push({ name, ok: true });
  } catch (error) {
    mechanisms.push({ name, ok: false, reason: reasonOf(error) });
  }
  onChange();
}

/** The one-line message of whatever was thrown. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n', 1)[0]!;
}
