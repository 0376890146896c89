/**
 * What went wrong, for the user: one line and an exit code.
 *
 * Only `main.ts` prints it. Everything below throws, so that every trouble ends in the same shape,
 * `bobtail: <what> (<where>)`, and with a code that scripts can rely on.
 */
import { EXIT_CODES, type ExitName } from './exit-codes';

/** Stable name of a trouble for programs; `docs/guide/library.md` lists them. */
export type FailureCode = `BOBTAIL_${string}`;

/** An expected trouble. `name` of the exit code is its stable identity. */
export class Failure extends Error {
  readonly exitName: ExitName;

  /** `where` is the offending value (a path, an option, a command), told in parentheses. */
  constructor(exitName: ExitName, what: string, where?: string) {
    super(where === undefined ? what : `${what} (${where})`);
    this.name = 'Failure';
    this.exitName = exitName;
  }

  /** `notRecording` as `BOBTAIL_NOT_RECORDING`. */
  get code(): FailureCode {
    return `BOBTAIL_${this.exitName.replace(/[A-Z]/g, '_$&').toUpperCase()}`;
  }

  get exitCode(): number {
    return EXIT_CODES[this.exitName];
  }
}

/** Whether `error` is a system error with this code (`ENOENT` …). */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code;
}

/** The failure of writing `path`: full disk apart from everything else. */
export function writeFailure(error: unknown, path: string): Failure {
  if (error instanceof Failure) {
    return error;
  }
  if (hasCode(error, 'ENOSPC') || hasCode(error, 'EDQUOT')) {
    return new Failure('diskFull', 'disk full', path);
  }
  return new Failure('cannotWrite', `cannot write: ${reasonOf(error)}`, path);
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EROFS: 'read-only file system',
  ENOENT: 'no such file or folder',
  ENOTDIR: 'not a folder',
  EISDIR: 'is a folder',
  EEXIST: 'exists already',
  EMFILE: 'too many open files',
  ENAMETOOLONG: 'name too long',
};

/** A system error in words, without the path and the call that Node puts in its messages. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) {
    return String(error);
  }
  const code = (error as NodeJS.ErrnoException).code;
  return (code !== undefined && REASONS[code]) || oneLine(error.message);
}

/** Error lines are one line, whatever they quote. */
export function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ').trim();
}
