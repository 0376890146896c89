/**
 * The `bobtaild` of one command: it has the lever in its hand and puts it back, whatever ends.
 *
 * A process of its own, since neither this one nor the service can put anything back once it is
 * killed, and since several processes of a service need one that speaks for all of them.
 */
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Raised } from './raised';

/** The program, as the package has it. */
export const BOBTAILD = join(__dirname, '..', '..', '..', 'native', 'bobtaild');
const END_MS = 5_000;
/** It may try several levers on each of many CPUs, or hang in a driver. */
const ANSWER_MS = 60_000;
/** It answers between two requests. */
const RAISED_MS = 1_000;
const MS_PER_S = 1e3;

/** What a bobtaild says of a lever. */
export interface Chosen {
  /** None where nothing that was asked for can be had. */
  readonly chosen: string | null;
  readonly about: string | null;
  /** Speed at peak by speed at base: promised, and measured where it could be. */
  readonly selfTest: { readonly expected: number | null; readonly measured: number | null } | null;
  /** Better levers, and why not those. */
  readonly passedOver: readonly { readonly kind: string; readonly whyNot: string | null }[];
}

const LATE: unique symbol = Symbol('late');

/** A running bobtaild of this command's own. */
export class Keeper {
  readonly chosen: Chosen;
  readonly #child: ChildProcess;
  readonly #lines: Lines;
  #asked: Promise<readonly Raised[]> | undefined;
  #awaited: Promise<string | undefined> | undefined;

  private constructor({ child, lines, chosen }: Answer) {
    this.#child = child;
    this.#lines = lines;
    this.chosen = chosen;
  }

  /** Starts one with its things in `folder`; undefined, with a reason, where that cannot be. */
  static async start(
    folder: string,
    args: readonly string[],
    answerMs = ANSWER_MS,
  ): Promise<Keeper | string> {
    const answer = await ask(['--keep', folder, ...args], folder, { isKept: true, answerMs });
    if (typeof answer === 'string') return answer;
    const keeper = new Keeper(answer);
    // Where it has nothing to hold it ends by itself, and takes the folder along.
    if (answer.chosen.chosen === null) await keeper.end();
    return keeper;
  }

  /** How long each lever was up that processes share; nothing where it does not answer. */
  raised(): Promise<readonly Raised[]> {
    // One at a time: who is late is not asked again before.
    this.#asked ??= this.#askRaised().finally(() => {
      this.#asked = undefined;
    });
    return this.#asked;
  }

  async #askRaised(): Promise<readonly Raised[]> {
    if (this.#awaited === undefined) {
      this.#awaited = this.#lines.next().finally(() => {
        this.#awaited = undefined;
      });
      this.#child.stdin?.write('\n');
    }
    // An answer that is late is still of what was asked, and nothing else is asked before it.
    const answer = await inTime(this.#awaited, RAISED_MS);
    return typeof answer === 'string' ? (JSON.parse(answer) as Raised[]) : [];
  }

  /** Has it put everything back; resolves when it has, or has tried for some seconds. */
  async end(): Promise<void> {
    this.#child.stdin?.end();
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const given = new AbortController();
      const ended = once(this.#child, 'exit');
      await Promise.race([ended, sleep(END_MS, undefined, { signal: given.signal })]);
      given.abort();
    }
  }
}

/** What the bobtaild of this machine offers; a reason where there is none. */
export async function askDaemon(
  socket: string,
  args: readonly string[],
  folder: string,
): Promise<Chosen | string> {
  const how = { isKept: false, answerMs: ANSWER_MS };
  const answer = await ask(['--offers', socket, ...args], folder, how);
  return typeof answer === 'string' ? answer : answer.chosen;
}

/** In one line: why not those. */
export function reasonsOf({ passedOver }: Chosen): string {
  return passedOver.map(({ kind, whyNot }) => `${kind}: ${whyNot ?? 'unknown'}`).join('; ');
}

interface Answer {
  readonly child: ChildProcess;
  readonly lines: Lines;
  readonly chosen: Chosen;
}

/** What comes of it, or `LATE`; this process does not end before. */
async function inTime<T>(what: Promise<T>, ms: number): Promise<T | typeof LATE> {
  const given = new AbortController();
  const late = sleep(ms, LATE, { signal: given.signal }).catch((): typeof LATE => LATE);
  try {
    return await Promise.race([what, late]);
  } finally {
    given.abort();
  }
}

/** Starts a bobtaild and reads the line of JSON that it answers with. */
async function ask(
  args: readonly string[],
  folder: string,
  { isKept, answerMs }: { readonly isKept: boolean; readonly answerMs: number },
): Promise<Answer | string> {
  if (!existsSync(BOBTAILD)) return `incomplete installation: no ${BOBTAILD}`;
  const logPath = join(folder, 'bobtaild.log');
  const log = openSync(logPath, 'a');
  // Of a session of its own: what ends the service from the terminal must not end this before it.
  const child = spawn(BOBTAILD, args, {
    stdio: ['pipe', 'pipe', log],
    detached: isKept,
  }) as ChildProcessByStdio<Writable, Readable, null>;
  closeSync(log);
  child.stdin.on('error', () => undefined);
  const failed = once(child, 'error').then(([error]) => (error as Error).message);
  const lines = new Lines(child.stdout);
  const answer = await inTime(Promise.race([lines.next(), failed]), answerMs);
  if (answer === LATE) {
    abandon(child);
    return `bobtaild did not answer within ${answerMs / MS_PER_S} s`;
  }
  if (answer?.startsWith('{')) {
    child.unref();
    lines.unref();
    return { child, lines, chosen: JSON.parse(answer) as Chosen };
  }
  const told = readFileSync(logPath, 'utf8').trim().split('\n').at(-1);
  return told || answer || 'bobtaild ended at once';
}

/** Its guard puts back what it had in its hand; one that hangs in the kernel is not waited for. */
export function abandon(child: ChildProcess): void {
  child.kill('SIGKILL');
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
}

/** Lines of its standard output, each for one who waits for it. */
class Lines {
  readonly #waiting: ((line: string | undefined) => void)[] = [];
  readonly #stdout: Readable;

  constructor(stdout: Readable) {
    this.#stdout = stdout;
    stdout.on('error', () => undefined);
    const lines = createInterface({ input: stdout });
    lines.on('line', (line) => this.#waiting.shift()?.(line));
    lines.on('close', () => {
      for (const give of this.#waiting.splice(0)) give(undefined);
    });
  }

  /** The next one; undefined at the end. */
  next(): Promise<string | undefined> {
    if (this.#stdout.destroyed) return Promise.resolve(undefined);
    return new Promise((give) => this.#waiting.push(give));
  }

  /** Waiting for one does not keep this process. */
  unref(): void {
    (this.#stdout as Readable & { unref?: () => void }).unref?.();
  }
}
