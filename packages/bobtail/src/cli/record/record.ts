/**
 * `bobtail record`: runs a command under the probe and says what came of it.
 *
 * The service comes first: it gets its own stdio, its signals and its exit code, and a recording
 * that cannot be made is refused before the service starts, never by stopping it later.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { StatusLine, tell } from '../console';
import { Failure } from '../failure';
import { type Bursts, type Detail, describeHost, type RunFile, writeRunFile } from '../json/run';
import { formatBytes, formatCount, formatDuration } from '../text/units';
import { checkAgent, recordingEnv } from './agent-environment';
import { describeListening, type Listening, readListening } from './agent-files';
import { checkNodeVersion, nodeVersionOf, startFailure } from './command';
import { LoadCommand } from './load-command';
import { readStealNs } from './machine';
import { ProcessGroup } from './process-group';
import {
  discardEmptyRecording,
  makeRecordingFolder,
  type RecordingFolder,
} from './recording-folder';
import { exitLike, forwardSignals } from './signals';
import { concludeRecording } from './summary';
import { readTraceTotals } from './trace-headers';

/** What the user asked for. */
export interface RecordOptions {
  readonly command: readonly string[];
  readonly out: string;
  /** Shell command run with `$PORT` when the server listens. */
  readonly onPort?: string;
  readonly warmupNs: number;
  /** Stop the service this long after it listens. */
  readonly durationNs?: number;
  readonly detail: Detail;
  readonly maxBytes: number;
  /** Bound of all traces together. */
  readonly maxTotalBytes: number;
  /** Have the kernel record each switch of the loop threads, which costs. */
  readonly notRunning?: boolean;
  /** Record in bursts; all the time without. */
  readonly bursts?: Bursts;
  /** Run the service unrecorded when it cannot be recorded. */
  readonly bestEffort: boolean;
  readonly quiet: boolean;
}

/** A recording that was made. */
export interface Recorded {
  readonly folder: string;
  /** Whether the recorder ended the service (`--on-port`, `--duration`), so that it may go on. */
  readonly stoppedByRecorder: boolean;
}

const LISTENING_POLL_MS = 50;
/** How long a server that is not of HTTP waits for one that is. */
const HTTP_GRACE_MS = 1_000;
const PROGRESS_MS = 1_000;
const NS_PER_MS = 1e6;

/** Runs the command; undefined when it ran unrecorded or there is nothing to report. */
export async function record(options: RecordOptions): Promise<Recorded | undefined> {
  let folder: RecordingFolder;
  let run: RunFile;
  try {
    const node = await checkCommand(options.command);
    folder = makeRecordingFolder(options.out);
    run = describeRun(options, node);
    writeRunFile(folder.path, run);
  } catch (error) {
    if (!options.bestEffort || !(error instanceof Failure) || error.exitName === 'notFound') {
      throw error;
    }
    tell(`bobtail: ${error.message}; the service runs unrecorded`);
    await runUnrecorded(options.command);
    return undefined;
  }
  let service: ProcessGroup;
  try {
    service = await startService(options.command, recordingEnv(folder.path, run));
  } catch (error) {
    discardEmptyRecording(folder);
    throw error;
  }
  return new Session(options, folder, run, service).conduct();
}

async function checkCommand(command: readonly string[]): Promise<string | undefined> {
  checkAgent();
  const node = await nodeVersionOf(command);
  if (node !== undefined) {
    checkNodeVersion(node);
  }
  return node;
}

function describeRun(options: RecordOptions, node: string | undefined): RunFile {
  return {
    schema: 'bobtail-run/1',
    command: options.command,
    startedAt: new Date().toISOString(),
    ...(node === undefined ? {} : { node }),
    detail: options.detail,
    warmupNs: options.warmupNs,
    maxBytes: options.maxBytes,
    maxTotalBytes: options.maxTotalBytes,
    bursts: options.bursts ?? null,
    notRunning: options.notRunning ?? false,
    outcome: null,
    host: describeHost(),
  };
}

async function startService(
  command: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<ProcessGroup> {
  const [file = '', ...args] = command;
  try {
    return await ProcessGroup.start(file, args, env, 'inherit');
  } catch (error) {
    throw startFailure(error, file);
  }
}

async function runUnrecorded(command: readonly string[]): Promise<void> {
  const service = await startService(command, process.env);
  const stopForwarding = forwardSignals(service, () => undefined);
  const outcome = await service.ended;
  stopForwarding();
  exitLike(outcome);
}

/** One recording, from the start of the service to the summary. */
class Session {
  readonly #options: RecordOptions;
  readonly #folder: RecordingFolder;
  readonly #run: RunFile;
  readonly #service: ProcessGroup;
  readonly #status: StatusLine;
  readonly #startMs = performance.now();
  readonly #stealBeforeNs = readStealNs();
  #load: LoadCommand | undefined;
  #listening: Listening | undefined;
  #stopping: Promise<boolean> | undefined;
  #interrupted = false;

  constructor(
    options: RecordOptions,
    folder: RecordingFolder,
    run: RunFile,
    service: ProcessGroup,
  ) {
    this.#options = options;
    this.#folder = folder;
    this.#run = run;
    this.#service = service;
    this.#status = new StatusLine(options.quiet);
  }

  async conduct(): Promise<Recorded | undefined> {
    const stopForwarding = forwardSignals(this.#service, () => {
      this.#interrupted = true;
      this.#load?.cancel();
    });
    const progress = setInterval(() => this.#showProgress(), PROGRESS_MS);
    const driving = this.#drive();
    const outcome = await this.#service.ended;
    clearInterval(progress);
    this.#status.clear();
    this.#load?.cancel();
    await driving;
    const stoppedInTime = await this.#stopping;
    stopForwarding();
    return concludeRecording({
      run: this.#run,
      folder: this.#folder,
      outcome,
      stealBeforeNs: this.#stealBeforeNs,
      durationMs: performance.now() - this.#startMs,
      // A signal from outside ends the recording first: then the service's end is its own.
      stoppedByRecorder: this.#stopping !== undefined && !this.#interrupted,
      interrupted: this.#interrupted,
      killed: stoppedInTime === false,
      load: this.#load,
      loadWanted: this.#options.onPort !== undefined,
      quiet: this.#options.quiet,
    });
  }

  /** Waits for the server to listen, then for what ends the recording. */
  async #drive(): Promise<void> {
    const { onPort, durationNs } = this.#options;
    this.#listening = await this.#firstListening();
    if (this.#listening === undefined) {
      return;
    }
    const ends: Promise<unknown>[] = [this.#service.ended];
    if (durationNs !== undefined) {
      ends.push(sleep(durationNs / NS_PER_MS, undefined, { ref: false }));
    }
    if (onPort !== undefined) {
      this.#status.clear();
      this.#load = await LoadCommand.start(onPort, this.#listening);
      ends.push(this.#load.ended);
    }
    await Promise.race(ends);
    if (this.#service.running && !this.#interrupted && ends.length > 1) {
      this.#load?.cancel();
      this.#stopping = this.#service.stop();
    }
  }

  /** The first HTTP server; one of another kind when none follows it. */
  async #firstListening(): Promise<Listening | undefined> {
    let otherSinceMs: number | undefined;
    while (this.#service.running) {
      const [first] = readListening(this.#folder.path);
      if (first !== undefined) {
        otherSinceMs ??= performance.now();
        if (first.http || performance.now() - otherSinceMs >= HTTP_GRACE_MS) {
          return first;
        }
      }
      await Promise.race([sleep(LISTENING_POLL_MS), this.#service.ended]);
    }
    return readListening(this.#folder.path)[0];
  }

  #showProgress(): void {
    if (this.#load !== undefined) {
      // The load command shows its own progress.
      return;
    }
    const elapsed = formatDuration((performance.now() - this.#startMs) * NS_PER_MS);
    if (this.#listening === undefined) {
      this.#status.show(`bobtail: waiting for the server to listen · ${elapsed}`);
      return;
    }
    const totals = readTraceTotals(this.#folder.path);
    const where = describeListening(this.#listening);
    const requests = `${formatCount(totals.requests)} requests`;
    this.#status.show(
      `bobtail: recording ${where} · ${requests} · ${formatBytes(totals.bytes)} · ${elapsed}`,
    );
  }
}
