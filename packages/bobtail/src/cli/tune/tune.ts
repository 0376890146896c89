/**
 * `bobtail tune`: what is asked on the command line, progress on stderr, the answer on stdout.
 *
 * A signal ends the running round and everything it started; what is known by then is printed, and
 * this process ends by the same signal.
 */
import { type TuneOptions, tune as tuneService } from '../../tune/tune';
import { colorsFor, widthOf, writeAnswer } from '../console';
import { exitLike } from '../record/signals';
import { untilSignalled } from '../until-signalled';
import { answerOf } from './answer';
import { TuneProgress } from './progress';
import { renderTuning } from './render-tuning';

/** What the user asked for. */
export interface TuneRequest extends Omit<TuneOptions, 'signal' | 'progress'> {
  readonly format: 'text' | 'json';
  readonly quiet: boolean;
}

/** Tunes and prints. Rejects with a `Failure`. */
export async function tune(request: TuneRequest): Promise<void> {
  const { format, quiet, ...options } = request;
  const progress = new TuneProgress(quiet, options);
  const { result: tuned, signal } = await untilSignalled((ending) =>
    tuneService({ ...options, signal: ending, progress: (step) => progress.show(step) }),
  );
  progress.end();
  const answer = answerOf(tuned, { ...options, signal: new AbortController().signal });
  const look = { colors: colorsFor(process.stdout), width: widthOf(process.stdout) };
  await writeAnswer(
    format === 'json' ? JSON.stringify(answer, null, 2) : renderTuning(answer, look),
  );
  if (signal !== undefined) exitLike({ exitCode: null, signal });
}
