/**
 * One run of one arm: a fresh service under the recorder, one load command, what was measured.
 *
 * The load command is the user's and may print anything or nothing, so latencies come from the
 * service itself, by a recording of its loop events; what that costs is the same in every arm.
 */
import { join } from 'node:path';
import { analyzeLatencies, analyzeReport } from '../cli/analysis';
import type { ExitName } from '../cli/exit-codes';
import { Failure } from '../cli/failure';
import { readRecordedProcesses } from '../cli/record/agent-files';
import { type Conclusion, conclude, type Ending } from '../cli/record/conclusion';
import type { ProcessGroup } from '../cli/record/process-group';
import { prepare, type SessionOptions, startSession } from '../cli/record/session';
import type { Arm } from './arm';
import { readUsage } from './resources';
import {
  didNotListen,
  type LossOf,
  type Lost,
  lost,
  lostService,
  lostToWarmup,
  type Moment,
  NS_PER_MS,
  type RoundLimits,
  type RoundResult,
  type Subject,
  spent,
  wasNotDone,
} from './round';
import { RoundFolder } from './round-folder';
import type { Sample } from './sample';

/** What is at fault, by the exit code that a recording would have; requests by any other. */
const LOSS_OF: Partial<Record<ExitName, LossOf>> = { loadFailed: 'load', unsupported: 'service' };
const MAX_BYTES = 512 * 2 ** 20;
const MAX_TOTAL_BYTES = 4 * 2 ** 30;

/** Runs `arm` once. Rejects with a `Failure` when the command cannot be started or recorded. */
export function runRecordedRound(
  subject: Subject,
  arm: Arm,
  limits: RoundLimits,
): Promise<RoundResult> {
  return RoundFolder.during((folder) => new Run(subject, arm, limits, folder).result());
}

/** A run under way. */
class Run {
  readonly #subject: Subject;
  readonly #arm: Arm;
  readonly #limits: RoundLimits;
  readonly #folder: RoundFolder;
  readonly #ending = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #late: Lost | undefined;
  #begin: Moment | undefined;
  #end: Moment | undefined;

  constructor(subject: Subject, arm: Arm, limits: RoundLimits, folder: RoundFolder) {
    this.#subject = subject;
    this.#arm = arm;
    this.#limits = limits;
    this.#folder = folder;
  }

  async result(): Promise<RoundResult> {
    const { signal, listenMs } = this.#limits;
    if (signal.aborted) return { kind: 'interrupted' };
    const abort = (): void => this.#ending.abort();
    signal.addEventListener('abort', abort);
    this.#endAfter(listenMs, () =>
      lost('service', didNotListen(listenMs, this.#folder.said('service'))),
    );
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
    return {
      command: started.command,
      env: started.env,
      out: join(this.#folder.path, 'recording'),
      onPort,
      warmupNs,
      ...(durationNs === undefined ? {} : { durationNs }),
      detail: 'loop',
      maxBytes: MAX_BYTES,
      maxTotalBytes: MAX_TOTAL_BYTES,
      stdio: this.#folder.output('service'),
      loadStdio: this.#folder.output('load'),
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
    this.#endAfter(runMs, () => lost('time', wasNotDone(runMs)));
    const begin = (): void => {
      this.#begin = { ...readUsage(service.pid), atMs: performance.now() };
    };
    const warmupMs = this.#subject.warmupNs / NS_PER_MS;
    if (warmupMs === 0) begin();
    else setTimeout(begin, warmupMs).unref();
  }

  #endAfter(ms: number, late: () => Lost): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#late = late();
      this.#ending.abort();
    }, ms);
  }

  #lossOf(ending: Ending, conclusion: Conclusion): RoundResult | undefined {
    if (this.#late !== undefined) return this.#late;
    // However it answers the SIGTERM that ends the round is its own affair. So is its end with
    // code 0 after a load that has ended, which may have told it to.
    const isInTime = ending.load?.cancelled === false && conclusion.endedWell;
    if (!ending.stoppedByRecorder && !isInTime) {
      return lostService(ending.outcome, this.#folder);
    }
    const failure = ending.load?.failure();
    if (failure !== undefined)
      return lost('load', `${failure.message}${this.#folder.said('load')}`);
    const [trouble] = conclusion.troubles;
    if (trouble === undefined) return undefined;
    const of = LOSS_OF[trouble.exitName] ?? 'requests';
    // The recording is gone with the round.
    const message = trouble.message.replace(` (${ending.folder.path})`, '');
    return lost(of, `${message}${this.#folder.said('service')}`);
  }

  async #measured(recording: string): Promise<RoundResult> {
    const processes = readRecordedProcesses(recording);
    const missing = this.#arm.missing?.(processes);
    if (missing !== undefined) return lost('change', missing);
    const [begin, end] = [this.#begin, this.#end];
    if (begin === undefined || end === undefined) return lostToWarmup();
    try {
      const latencies = await analyzeLatencies(recording);
      const { gc } = await analyzeReport(recording);
      const requests = latencies.reduce((sum, [, count]) => sum + count, 0);
      const sample: Sample = {
        ...spent(begin, end, requests),
        latencies,
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
