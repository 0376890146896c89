/**
 * One recording, from the start of the service to its end: what starts the load, what stops the
 * service, and nothing about how it is told.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { ThrottlingWatch } from '../../cgroup/throttling';
import { StatusLine } from '../console';
import { type Bursts, type Detail, describeHost, type RunFile, writeRunFile } from '../json/run';
import { formatBytes, formatCount, formatDuration } from '../text/units';
import { checkAgent, recordingEnv } from './agent-environment';
import { describeListening, type Listening } from './agent-files';
import { checkNodeVersion, nodeVersionOf, startFailure } from './command';
import type { Ending } from './conclusion';
import { firstListening } from './first-listening';
import { LoadCommand } from './load-command';
import { ProcessGroup, type Stdio } from './process-group';
import {
  discardEmptyRecording,
  makeRecordingFolder,
  type RecordingFolder,
} from './recording-folder';
import { StolenWatch } from './stolen';
import { lookAtThrottling } from './throttled';
import { readTraceTotals } from './trace-headers';
import { findV8Threads, V8ThreadsWatch } from './v8-threads';

/** What is recorded, and how. */
export interface SessionOptions {
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
  /** Where the output of the service goes, and that of the load command without `loadStdio`. */
  readonly stdio: Stdio;
  readonly loadStdio?: Stdio;
  /** The environment of the service before the agent is added to it; this process's without. */
  readonly env?: NodeJS.ProcessEnv;
  /** Told when the server listens, before any load, and before the recorder stops the service. */
  readonly watch?: {
    listening(service: ProcessGroup): void;
    stopping(service: ProcessGroup): void;
  };
  /** Ends the recording when it is aborted. */
  readonly signal?: AbortSignal;
  readonly quiet: boolean;
}

/** What a session prepares before the service starts. */
export interface Prepared {
  readonly folder: RecordingFolder;
  readonly run: RunFile;
}

/** Passes signals on to the service until the returned function is called. */
export type Forward = (service: ProcessGroup, onStop: () => void) => () => void;

const PROGRESS_MS = 1_000;
const NS_PER_MS = 1e6;

/** Checks the command and makes the folder. Rejects with a `Failure`; nothing was started then. */
export async function prepare(options: SessionOptions): Promise<Prepared> {
  const node = await checkCommand(options.command);
  const folder = makeRecordingFolder(options.out);
  const run = describeRun(options, node);
  writeRunFile(folder.path, run);
  return { folder, run };
}

/** Starts the service under the probe. Rejects with a `Failure`; the folder is gone then. */
export async function startSession(options: SessionOptions, prepared: Prepared): Promise<Session> {
  const { folder, run } = prepared;
  try {
    const env = recordingEnv(folder.path, run, options.env);
    const service = await startService(options.command, env, options.stdio);
    return new Session(options, prepared, service);
  } catch (error) {
    discardEmptyRecording(folder);
    throw error;
  }
}

async function checkCommand(command: readonly string[]): Promise<string | undefined> {
  checkAgent();
  const node = await nodeVersionOf(command);
  if (node !== undefined) {
    checkNodeVersion(node);
  }
  return node;
}

function describeRun(options: SessionOptions, node: string | undefined): RunFile {
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

/** Starts a command. Rejects with a `Failure`. */
export async function startService(
  command: readonly string[],
  env: NodeJS.ProcessEnv,
  stdio: Stdio,
): Promise<ProcessGroup> {
  const [file = '', ...args] = command;
  try {
    return await ProcessGroup.start(file, args, env, stdio);
  } catch (error) {
    throw startFailure(error, file);
  }
}

/** One recording, from the start of the service to the summary. */
export class Session {
  readonly #options: SessionOptions;
  readonly #folder: RecordingFolder;
  readonly #run: RunFile;
  readonly #service: ProcessGroup;
  readonly #status: StatusLine;
  readonly #startMs = performance.now();
  readonly #stolen = new StolenWatch();
  readonly #throttling = new ThrottlingWatch();
  readonly #v8Threads = new V8ThreadsWatch();
  #load: LoadCommand | undefined;
  #listening: Listening | undefined;
  #stopping: Promise<boolean> | undefined;
  #interrupted = false;

  constructor(options: SessionOptions, prepared: Prepared, service: ProcessGroup) {
    this.#options = options;
    this.#folder = prepared.folder;
    this.#run = prepared.run;
    this.#service = service;
    this.#status = new StatusLine(options.quiet);
  }

  /** Resolves when the service has ended. `forward` passes on what would end it before. */
  async conduct(forward: Forward): Promise<Ending> {
    const stopForwarding = forward(this.#service, () => {
      this.#interrupted = true;
      this.#lookAtThrottling();
      this.#load?.cancel();
    });
    const progress = setInterval(() => {
      this.#lookAtThrottling();
      findV8Threads(this.#folder.path, this.#v8Threads);
      this.#showProgress();
    }, PROGRESS_MS);
    const driving = this.#drive();
    const outcome = await this.#service.ended;
    clearInterval(progress);
    this.#stolen.stop();
    this.#v8Threads.stop();
    this.#status.clear();
    this.#load?.cancel();
    await driving;
    const stoppedInTime = await this.#stopping;
    stopForwarding();
    return {
      run: this.#run,
      folder: this.#folder,
      outcome,
      stolen: this.#stolen,
      throttling: this.#throttling,
      v8Threads: this.#v8Threads,
      durationMs: performance.now() - this.#startMs,
      // A signal from outside ends the recording first: then the service's end is its own.
      stoppedByRecorder: this.#stopping !== undefined && !this.#interrupted,
      interrupted: this.#interrupted,
      killed: stoppedInTime === false,
      load: this.#load,
      loadWanted: this.#options.onPort !== undefined,
      quiet: this.#options.quiet,
    };
  }

  /** Waits for the server to listen, then for what ends the recording. */
  async #drive(): Promise<void> {
    const { onPort, durationNs, signal } = this.#options;
    this.#listening = await this.#firstListening();
    if (this.#listening === undefined) {
      if (signal?.aborted) {
        this.#stopping = this.#service.stop();
      }
      return;
    }
    this.#options.watch?.listening(this.#service);
    const ends: Promise<unknown>[] = [this.#service.ended];
    if (signal !== undefined) {
      ends.push(signal.aborted ? Promise.resolve() : once(signal, 'abort'));
    }
    if (durationNs !== undefined) {
      ends.push(sleep(durationNs / NS_PER_MS, undefined, { ref: false }));
    }
    if (onPort !== undefined) {
      this.#status.clear();
      const { stdio, loadStdio = stdio } = this.#options;
      this.#load = await LoadCommand.start(onPort, this.#listening, loadStdio);
      ends.push(this.#load.ended);
    }
    await Promise.race(ends);
    if (this.#service.running && !this.#interrupted && ends.length > 1) {
      this.#options.watch?.stopping(this.#service);
      this.#lookAtThrottling();
      this.#load?.cancel();
      this.#stopping = this.#service.stop();
    }
  }

  async #firstListening(): Promise<Listening | undefined> {
    const isAborted = (): boolean => this.#options.signal?.aborted === true;
    const isOver = (): boolean => !this.#service.running || isAborted();
    const first = await firstListening(this.#folder.path, isOver, this.#service.ended);
    return isAborted() ? undefined : first;
  }

  #lookAtThrottling(): void {
    lookAtThrottling(this.#folder.path, this.#throttling);
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
