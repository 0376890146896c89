/**
 * `record` for programs: what `bobtail record` does, without its terminal.
 *
 * It prints nothing, touches no signal handler and no exit code of the calling process; whatever is
 * wrong is thrown.
 */
import { Failure } from '../cli/failure';
import type { Bursts, Detail } from '../cli/json/run';
import { conclude } from '../cli/record/conclusion';
import { prepare, type SessionOptions, startSession } from '../cli/record/session';
import { type Recording, read } from './recording';

/** What is recorded, and how. Times are milliseconds. */
export interface RecordOptions {
  /** The program and its arguments; not given to a shell. */
  readonly command: readonly string[];
  /**
   * Folder to write to. One that holds a recording is not written over: the next free number is
   * taken, and `Recording.folder` says which. Default `recording.bobtail`.
   */
  readonly out?: string;
  /**
   * Shell command that is run with `$PORT` when the server listens; the recording ends with it.
   * Without it, without `durationMs` and without `signal` it ends when the service does.
   */
  readonly onPort?: string;
  /** Left out of the answers: this long after the server listens. */
  readonly warmupMs?: number;
  /** Stop the service this long after it listens. */
  readonly durationMs?: number;
  /** Stops the service and ends the recording when it is aborted; what was recorded is kept. */
  readonly signal?: AbortSignal;
  /** `full` (default), or `loop` for loop events only, which costs less. */
  readonly detail?: Detail;
  /** Tell when the loop waited for a CPU; costs a little more. */
  readonly notRunning?: boolean;
  /** Record in bursts: in each period for a while. All the time without. */
  readonly bursts?: { readonly everyMs: number; readonly forMs: number };
  /** Bound of each trace file. Default 512 MiB. */
  readonly maxBytes?: number;
  /** Bound of the whole recording. Default: as `bobtail record`. */
  readonly maxTotalBytes?: number;
  /** Where the output of the service and of `onPort` goes. Default `ignore`. */
  readonly stdio?: 'ignore' | 'inherit';
}

const NS_PER_MS = 1e6;
const BURST_MS_MIN = 10;
const MIB = 2 ** 20;
const BYTES_MIN = 3 * MIB;
const MAX_BYTES_DEFAULT = 512 * MIB;
const MAX_TOTAL_DEFAULT = 4096 * MIB;

/**
 * Runs a command under the probe until the recording ends; Linux only.
 *
 * Rejects with a `Failure` when the command cannot be started or recorded, when the load command
 * fails, or when no request was recorded. A recording that was made before it failed stays and can
 * be read. How the service itself ended is in `Recording.run.outcome`.
 */
export async function record(options: RecordOptions): Promise<Recording> {
  const sessionOptions = toSession(options);
  const prepared = await prepare(sessionOptions);
  const session = await startSession(sessionOptions, prepared);
  const ending = await session.conduct((service) => {
    const stop = (): void => service.signalAll('SIGTERM');
    process.once('exit', stop);
    return () => process.removeListener('exit', stop);
  });
  const [trouble] = conclude(ending).troubles;
  if (trouble !== undefined) {
    throw trouble;
  }
  return read(ending.folder.path);
}

function toSession(options: RecordOptions): SessionOptions {
  const { command, onPort, signal, bursts, durationMs, warmupMs = 0 } = options;
  if (command.length === 0) {
    throw new Failure('usage', 'command is empty');
  }
  if (durationMs !== undefined && !(durationMs > warmupMs)) {
    throw new Failure('usage', 'durationMs must be more than warmupMs', String(durationMs));
  }
  if (bursts !== undefined && !(bursts.everyMs > bursts.forMs)) {
    throw new Failure('usage', 'everyMs must be more than forMs', String(bursts.everyMs));
  }
  return {
    command,
    out: options.out ?? 'recording.bobtail',
    ...(onPort === undefined ? {} : { onPort }),
    warmupNs: toNs('warmupMs', warmupMs, 0),
    ...(durationMs === undefined ? {} : { durationNs: toNs('durationMs', durationMs, 0) }),
    ...(bursts === undefined ? {} : { bursts: toBursts(bursts) }),
    ...(signal === undefined ? {} : { signal }),
    detail: options.detail ?? 'full',
    notRunning: options.notRunning ?? false,
    maxBytes: atLeast('maxBytes', options.maxBytes ?? MAX_BYTES_DEFAULT, BYTES_MIN),
    maxTotalBytes: atLeast('maxTotalBytes', options.maxTotalBytes ?? MAX_TOTAL_DEFAULT, BYTES_MIN),
    stdio: options.stdio ?? 'ignore',
    quiet: true,
  };
}

function toBursts({ everyMs, forMs }: NonNullable<RecordOptions['bursts']>): Bursts {
  return { everyNs: toNs('everyMs', everyMs, 0), forNs: toNs('forMs', forMs, BURST_MS_MIN) };
}

function toNs(name: string, ms: number, leastMs: number): number {
  return Math.round(atLeast(name, ms, leastMs) * NS_PER_MS);
}

function atLeast(name: string, value: number, least: number): number {
  if (!(value >= least) || !Number.isSafeInteger(Math.round(value))) {
    throw new Failure('usage', `${name} must be a number from ${least}`, String(value));
  }
  return value;
}
