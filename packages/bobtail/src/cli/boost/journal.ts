/**
 * What the journal of a bobtaild still lists: levers that are raised, or may be.
 *
 * Read instead of the exit code of who wrote it, since a bobtaild that was killed has none, and
 * since its guard goes on putting levers back after that.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../failure';

/** Levers that were not put back. */
export interface Left {
  /** The journal that says what they were. */
  readonly journal: string;
  /** For people; null where the journal cannot be read. */
  readonly levers: readonly string[] | null;
}

interface Entry {
  readonly lever: string;
  readonly domain: { readonly cpus?: number[]; readonly group?: string; readonly thread?: number };
}

const POLL_MS = 20;
const TRIES = 3;

/** The journal of the bobtaild that has its things in `folder`. */
export function journalIn(folder: string): string {
  return join(folder, 'journal.json');
}

/** What is still listed when so much time has passed; undefined as soon as nothing is. */
export async function leftIn(folder: string, withinMs: number): Promise<Left | undefined> {
  const journal = journalIn(folder);
  const endMs = performance.now() + withinMs;
  let tries = 0;
  for (;;) {
    const levers = readLevers(journal);
    if (levers?.length === 0) return undefined;
    // One that is being written is whole a moment later.
    tries += 1;
    if (performance.now() >= endMs && (levers !== null || tries > TRIES)) {
      return { journal, levers };
    }
    await sleep(POLL_MS);
  }
}

function readLevers(journal: string): string[] | null {
  try {
    const { entries } = JSON.parse(readFileSync(journal, 'utf8')) as { entries: Entry[] };
    return entries.map(nameOf);
  } catch (error) {
    // Whoever put all back takes the journal along.
    return hasCode(error, 'ENOENT') ? [] : null;
  }
}

/** As bobtaild names them. */
function nameOf({ lever, domain: { cpus, group, thread } }: Entry): string {
  if (group !== undefined) return `${lever} of group ${group}`;
  if (thread !== undefined) return `${lever} of thread ${thread}`;
  const [first, last] = [cpus?.at(0), cpus?.at(-1)];
  return first === last ? `${lever} of CPU ${first}` : `${lever} of CPUs ${first} to ${last}`;
}
