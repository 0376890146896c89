/**
 * The only place that touches the terminal: answers on stdout, everything else on stderr.
 *
 * A reader that goes away (`bobtail report | head`) is no error, so a broken pipe is swallowed
 * here, once, instead of at every write.
 */
import { createColors } from 'picocolors';
import { hasCode, writeFailure } from './failure';

/** Paints text, or leaves it as it is. */
export type Colors = ReturnType<typeof createColors>;

/** Colours for a stream: never without a terminal, nor when `NO_COLOR` is set. */
export function colorsFor(stream: NodeJS.WriteStream): Colors {
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  if (NO_COLOR !== undefined && NO_COLOR !== '') {
    return createColors(false);
  }
  if (FORCE_COLOR !== undefined && FORCE_COLOR !== '' && FORCE_COLOR !== '0') {
    return createColors(true);
  }
  return createColors(stream.isTTY === true && TERM !== 'dumb');
}

const WIDTH = 140;

/** Columns of the terminal; a fixed width where there is none, so that files come out the same. */
export function widthOf(stream: NodeJS.WriteStream): number {
  return stream.isTTY === true ? Math.max(60, stream.columns ?? WIDTH) : WIDTH;
}

/** Writes an answer and waits until it was taken; a closed pipe counts as taken. */
export function writeAnswer(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text.endsWith('\n') ? text : `${text}\n`, (error) => {
      if (error && !hasCode(error, 'EPIPE')) {
        reject(writeFailure(error, 'standard output'));
      } else {
        resolve();
      }
    });
  });
}

/** Writes one line to stderr. */
export function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Without a listener a stream error would be thrown as an uncaught exception. */
export function ignoreBrokenPipes(): void {
  const ignore = (error: unknown): void => {
    if (!hasCode(error, 'EPIPE')) {
      process.exitCode = writeFailure(error, 'standard output').exitCode;
    }
  };
  process.stdout.on('error', ignore);
  process.stderr.on('error', ignore);
}

/**
 * One line on stderr that is written over again and again.
 *
 * The cursor is left at the start of the line, so that output of the service, which shares the
 * terminal, writes over it instead of behind it.
 */
export class StatusLine {
  readonly #active: boolean;
  #shown = false;

  constructor(quiet: boolean) {
    const ci = process.env.CI;
    this.#active = !quiet && process.stderr.isTTY === true && (ci === undefined || ci === '');
  }

  show(text: string): void {
    if (this.#active) {
      process.stderr.write(`\x1b[2K${text}\r`);
      this.#shown = true;
    }
  }

  clear(): void {
    if (this.#shown) {
      process.stderr.write('\x1b[2K');
      this.#shown = false;
    }
  }
}
