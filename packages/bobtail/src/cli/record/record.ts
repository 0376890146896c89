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
import { leaveAs, tellConclusion } from './summary';

/** What the user asked for. */
export interface RecordOptions extends Omit<SessionOptions, 'stdio' | 'signal'> {
  /** Run the service unrecorded when it cannot be recorded. */
  readonly bestEffort: boolean;
  /** Done with what was recorded, before the recorder ends as the service ended. */
  readonly afterwards?: (recorded: Recorded) => Promise<void>;
}

/** A recording that was made. */
export interface Recorded {
  readonly folder: string;
  /** Whether the recorder ended the service (`--on-port`, `--duration`), so that it may go on. */
  readonly stoppedByRecorder: boolean;
  /** The signal from outside that ended it. */
  readonly interruptedBy: NodeJS.Signals | undefined;
}

/** Runs the command and ends this process as it ended. */
export async function record(options: RecordOptions): Promise<void> {
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
    return;
  }
  const session = await startSession(sessionOptions, prepared);
  let interruptedBy: NodeJS.Signals | undefined;
  const ending = await session.conduct((service, onStop) =>
    forwardSignals(service, (signal) => {
      interruptedBy ??= signal;
      onStop();
    }),
  );
  const conclusion = conclude(ending);
  tellConclusion(ending, conclusion);
  const { folder, stoppedByRecorder } = ending;
  try {
    if (conclusion.recorded) {
      await options.afterwards?.({ folder: folder.path, stoppedByRecorder, interruptedBy });
    }
  } finally {
    leaveAs(ending, conclusion);
  }
}

async function runUnrecorded(command: readonly string[]): Promise<void> {
  const service = await startService(command, process.env, 'inherit');
  const stopForwarding = forwardSignals(service, () => undefined);
  const outcome = await service.ended;
  stopForwarding();
  exitLike(outcome);
}
