/**
 * One run of one arm: a fresh service under the recorder, one load command, what was measured.
 *
 * The load command is the user's and may print anything or nothing, so latencies come from the
 * service itself, by a recording of its loop events; what that costs is the same in every arm.
 */
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { analyzeLatencies, analyzeReport } from '../cli/analysis';
import { Failure } from '../cli/failure';
import { readRecordedProcesses } from '../cli/record/agent-files';
import { type Conclusion, conclude, type Ending } from '../cli/record/conclusion';
import type { ProcessGroup } from '../cli/record/process-group';
import { prepare, type SessionOptions, startSession } from '../cli/record/session';
import { formatDuration } from '../cli/text/units';
import type { Arm } from './arm';
import { lastWords } from './last-words';
import { readUsage, type Usage } from './resources';
import type { Sample } from './sample';

/** The service that is experimented with, and its load. */
export interface Subject {
  readonly command: readonly string[];
  readonly onPort: string;
  readonly warmupNs: number;
  /** Stop it so long after it listens, if the load has not ended by then. */
  readonly durationNs?: number;
}

/** Why a run measured nothing. */
export type LossOf = 'service' | 'load' | 'time' | 'change' | 'requests';

/** What came of a run. */
export type RoundResult =
  | { readonly kind: 'measured'; readonly sample: Sample; readonly execPath: string | undefined }
  | { readonly kind: 'lost'; readonly of: LossOf; readonly reason: string }
  | { readonly kind: 'interrupted' };

/** Bounds of a run, and what ends it before. */
export interface RoundLimits {
  readonly listenMs: number;
  readonly runMs: number;
  readonly signal: AbortSignal;
}

/** Runs an arm once. Rejects with a `Failure` when the command cannot be started. */
export type Runner = (subject: Subject, arm: Arm, limits: RoundLimits) => Promise<RoundResult>;

const MAX_BYTES = 512 * 2 ** 20;
const MAX_TOTAL_BYTES = 4 * 2 ** 30;
const NS_PER_MS = 1e6;
const NS_PER_S = 1e9;

/** Runs `arm` once. Rejects with a `Failure` when the command cannot be started or recorded. */
export async function runRound(
  subject: Subject,
  arm: Arm,
  limits: RoundLimits,
): Promise<RoundResult> {
  const folder = mkdtempSync(join(tmpdir(), 'bobtail-round-'));
  const files = ['service', 'load'].map((name) => openSync(join(folder, `${name}.log`), 'w'));
  try {
    return await new Run(subject, arm, limits, folder, files as [number, number]).result();
  } finally {
    files.forEach(closeSync);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A run under way. */
class Run {
  readonly #subject: Subject;
  readonly #arm: Arm;
  readonly #limits: RoundLimits;
  readonly #folder: string;
  readonly #files: readonly [service: number, load: number];
  readonly #ending = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #late: string | undefined;
  #begin: (Usage & { readonly atMs: number }) | undefined;
  #end: (Usage & { readonly atMs: number }) | undefined;

  constructor(
    subject: Subject,
    arm: Arm,
    limits: RoundLimits,
    folder: string,
    files: readonly [number, number],
  ) {
    this.#subject = subject;
    this.#arm = arm;
    this.#limits = limits;
    this.#folder = folder;
    this.#files = files;
  }

  async result(): Promise<RoundResult> {
    const { signal, listenMs } = this.#limits;
    if (signal.aborted) return { kind: 'interrupted' };
    const abort = (): void => this.#ending.abort();
    signal.addEventListener('abort', abort);
    this.#endAfter(listenMs, `it did not listen within ${formatMs(listenMs)}`);
    try {
      const { ending, conclusion } = await this.#conduct();
      if (signal.aborted) return { kind: 'interrupted' };
      const reason = this.#lossOf(ending, conclusion);
      return reason ?? (await this.#measured(ending.folder.path));
    } finally {
      clearTimeout(this.#timer);
      signal.removeEventListener('abort', abort);
    }
  }

  async #conduct(): Promise<{ ending: Ending; conclusion: Conclusion }> {
    const options = this.#sessionOptions();
    const session = await startSession(options, await prepare(options));
    let service: ProcessGroup | undefined;
    const ending = await session.conduct((started, onStop) => {
      service = started;
      const kill = (): void => {
        started.signalAll('SIGKILL');
        onStop();
      };
      process.once('exit', kill);
      return () => process.removeListener('exit', kill);
    });
    clearTimeout(this.#timer);
    const conclusion = conclude(ending);
    // Whatever a run leaves behind would slow down the next.
    await ending.load?.stop();
    await service?.stop();
    return { ending, conclusion };
  }

  #sessionOptions(): SessionOptions {
    const { command, onPort, warmupNs, durationNs } = this.#subject;
    const started = this.#arm.start({ command, env: process.env });
    const [serviceFd, loadFd] = this.#files;
    return {
      command: started.command,
      env: started.env,
      out: join(this.#folder, 'recording'),
      onPort,
      warmupNs,
      ...(durationNs === undefined ? {} : { durationNs }),
      detail: 'loop',
      maxBytes: MAX_BYTES,
      maxTotalBytes: MAX_TOTAL_BYTES,
      stdio: { fd: serviceFd },
      loadStdio: { fd: loadFd },
      signal: this.#ending.signal,
      quiet: true,
      watch: {
        listening: (service) => this.#listening(service),
        stopping: (service) => {
          this.#end = { ...readUsage(service.pid), atMs: performance.now() };
        },
      },
    };
  }

  #listening(service: ProcessGroup): void {
    const { runMs } = this.#limits;
    this.#endAfter(runMs, `it was not done after ${formatMs(runMs)}`);
    const begin = (): void => {
      this.#begin = { ...readUsage(service.pid), atMs: performance.now() };
    };
    const warmupMs = this.#subject.warmupNs / NS_PER_MS;
    if (warmupMs === 0) begin();
    else setTimeout(begin, warmupMs).unref();
  }

  #endAfter(ms: number, late: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#late = late;
      this.#ending.abort();
    }, ms);
  }

  #lossOf(ending: Ending, conclusion: Conclusion): RoundResult | undefined {
    if (this.#late !== undefined) return lost('time', this.#late);
    if (!conclusion.endedWell) {
      const { exitCode, signal } = ending.outcome;
      const how = signal === null ? `ended with exit code ${exitCode}` : `died of ${signal}`;
      return lost('service', `it ${how}${this.#said('service')}`);
    }
    const failure = ending.load?.failure();
    if (failure !== undefined) return lost('load', `${failure.message}${this.#said('load')}`);
    const [trouble] = conclusion.troubles;
    if (trouble === undefined) return undefined;
    const of = trouble.exitName === 'loadFailed' ? 'load' : 'requests';
    return lost(of, `${trouble.message}${this.#said('service')}`);
  }

  #said(who: 'service' | 'load'): string {
    const words = lastWords(join(this.#folder, `${who}.log`));
    return words === undefined ? '' : `: ${words}`;
  }

  async #measured(recording: string): Promise<RoundResult> {
    const processes = readRecordedProcesses(recording);
    const missing = this.#arm.missing?.(processes);
    if (missing !== undefined) return lost('change', missing);
    const [begin, end] = [this.#begin, this.#end];
    if (begin === undefined || end === undefined) {
      return lost('time', 'it was over before its warm-up was');
    }
    try {
      const latencies = await analyzeLatencies(recording);
      const { gc } = await analyzeReport(recording);
      const requests = latencies.reduce((sum, [, count]) => sum + count, 0);
      const sample: Sample = {
        latencies,
        requests,
        cpuNsPerRequest: (end.cpuNs - begin.cpuNs) / requests,
        requestsPerS: requests / (((end.atMs - begin.atMs) * NS_PER_MS) / NS_PER_S),
        peakRssBytes: end.peakRssBytes,
        collections: gc.map(({ kind, pauses, totalNs }) => ({ kind, pauses, totalNs })),
      };
      return { kind: 'measured', sample, execPath: processes[0]?.execPath };
    } catch (error) {
      if (error instanceof Failure && error.exitName === 'nothingRecorded') {
        return lost('requests', error.message);
      }
      throw error;
    }
  }
}

function lost(of: LossOf, reason: string): RoundResult {
  return { kind: 'lost', of, reason };
}

function formatMs(ms: number): string {
  return formatDuration(ms * NS_PER_MS);
}
