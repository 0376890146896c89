/**
 * The load command of `--on-port`: started when the server listens, and the end of the recording.
 *
 * It is given to a shell, because `$PORT` stands in it, and is not recorded. Its output is
 * progress, not the answer, so its stdout goes to stderr.
 */
import type { StdioOptions } from 'node:child_process';
import { Failure } from '../failure';
import type { Outcome } from '../json/run';
import type { Listening } from './agent-files';
import { startFailure } from './command';
import { ProcessGroup, type Stdio } from './process-group';

const SHELL = '/bin/sh';
const STDERR_FD = 2;

/** A load command that was started. */
export class LoadCommand {
  readonly #text: string;
  readonly #group: ProcessGroup;
  /** Settles when it has ended; never rejects. */
  readonly ended: Promise<void>;
  #outcome: Outcome | undefined;
  #cancelled = false;

  private constructor(text: string, group: ProcessGroup) {
    this.#text = text;
    this.#group = group;
    this.ended = group.ended.then((outcome) => {
      this.#outcome = outcome;
    });
  }

  /** Starts `text` in a shell; a server on a unix socket is told as `$SOCKET`. */
  static async start(text: string, listening: Listening, output: Stdio): Promise<LoadCommand> {
    const env =
      listening.port === undefined
        ? { ...process.env, SOCKET: listening.path ?? '' }
        : { ...process.env, PORT: String(listening.port) };
    const stdio: Stdio | StdioOptions =
      output === 'inherit' ? ['ignore', STDERR_FD, 'inherit'] : output;
    try {
      return new LoadCommand(text, await ProcessGroup.start(SHELL, ['-c', text], env, stdio));
    } catch (error) {
      throw startFailure(error, SHELL);
    }
  }

  /** Ends it, because the recording ends without it; then its end is no failure of its own. */
  cancel(): void {
    if (this.#outcome === undefined && !this.#cancelled) {
      this.#cancelled = true;
      this.#group.signalAll('SIGTERM');
    }
  }

  /** Ends it and all it started, with SIGKILL what SIGTERM does not end; afterwards none runs. */
  async stop(): Promise<void> {
    this.cancel();
    await this.#group.stop();
  }

  /** Whether it was still running when the recording ended. */
  get cancelled(): boolean {
    return this.#cancelled;
  }

  /** Why it failed; undefined when it did not, or was cancelled. */
  failure(): Failure | undefined {
    const outcome = this.#outcome;
    if (this.#cancelled || outcome === undefined || outcome.exitCode === 0) {
      return undefined;
    }
    const how =
      outcome.signal === null ? `exit code ${outcome.exitCode}` : `ended by ${outcome.signal}`;
    return new Failure('loadFailed', `the load command failed with ${how}`, this.#text);
  }
}
