/**
 * `bobtail record`: runs a command under the probe and says what came of it.
 *
 * The service comes first: it gets its own stdio, its signals and its exit code, and a recording
 * that cannot be made is refused before the service starts, never by stopping it later.
 */
import { tell } from '../console';
import { Failure } from '../failure';
import { conclude } from './conclusion';
import { type Prepared, prepare, type SessionOptions, startService, startSession } from './session';
import { exitLike, forwardSignals } from './signals';
import { tellConclusion } from './summary';

/** What the user asked for. */
export interface RecordOptions extends Omit<SessionOptions, 'stdio' | 'signal'> {
  /** Run the service unrecorded when it cannot be recorded. */
  readonly bestEffort: boolean;
}

/** A recording that was made. */
export interface Recorded {
  readonly folder: string;
  /** Whether the recorder ended the service (`--on-port`, `--duration`), so that it may go on. */
  readonly stoppedByRecorder: boolean;
}

/** Runs the command; undefined when it ran unrecorded or there is nothing to report. */
export async function record(options: RecordOptions): Promise<Recorded | undefined> {
  const sessionOptions = { ...options, stdio: 'inherit' } as const;
  let prepared: Prepared;
  try {
    prepared = await prepare(sessionOptions);
  } catch (error) {
    if (!options.bestEffort || !(error instanceof Failure) || error.exitName === 'notFound') {
      throw error;
    }
    tell(`bobtail: ${error.message}; the service runs unrecorded`);
    await runUnrecorded(options.command);
    return undefined;
  }
  const session = await startSession(sessionOptions, prepared);
  const ending = await session.conduct(forwardSignals);
  const conclusion = conclude(ending);
  tellConclusion(ending, conclusion);
  if (!conclusion.recorded) {
    return undefined;
  }
  return { folder: ending.folder.path, stoppedByRecorder: ending.stoppedByRecorder };
}

async function runUnrecorded(command: readonly string[]): Promise<void> {
  const service = await startService(command, process.env, 'inherit');
  const stopForwarding = forwardSignals(service, () => undefined);
  const outcome = await service.ended;
  stopForwarding();
  exitLike(outcome);
}
