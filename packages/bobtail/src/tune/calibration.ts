/**
 * One run of the unchanged service before anything is tried: what it needs, how many requests
 * a round has, which Node it is; and whether it works at all, so that what is wrong is told first.
 */
import { Failure } from '../cli/failure';
import { askVersion } from '../cli/record/command';
import { formatMebibytes } from '../cli/text/units';
import { UNCHANGED } from '../prove/arm';
import { runRecordedRound } from '../prove/recorded-round';
import type { LossOf, RoundLimits, Subject } from '../prove/round';
import { highestSupported, type Sample } from '../prove/sample';
import type { Budget } from './budget';

/** What the unchanged service is. */
export interface Calibration {
  readonly sample: Sample;
  readonly runMs: number;
  /** The percentile that a single round supports. */
  readonly percentile: number;
  /** The binary that serves, and its version. */
  readonly node: string;
  readonly version: string;
}

/** The exit code of an unchanged service that cannot be measured. */
const EXITS: Readonly<Record<LossOf, 'unsupported' | 'loadFailed' | 'nothingRecorded'>> = {
  service: 'unsupported',
  change: 'unsupported',
  load: 'loadFailed',
  time: 'unsupported',
  requests: 'nothingRecorded',
};
const REQUESTS_MIN = 20;

/** Undefined when it was interrupted. Rejects with a `Failure` where nothing can be tuned. */
export async function calibrate(
  subject: Subject,
  budget: Budget,
  limits: RoundLimits,
): Promise<Calibration | undefined> {
  const startMs = performance.now();
  const result = await runRecordedRound(subject, UNCHANGED, limits);
  if (result.kind === 'interrupted') return undefined;
  const command = subject.command.join(' ');
  if (result.kind === 'lost') {
    throw unchangedLost(result.of, result.reason, subject);
  }
  const { sample, execPath } = result;
  const percentile = highestSupported(sample.requests);
  if (percentile === undefined) {
    const what = `a round needs ${REQUESTS_MIN} requests, the load sent ${sample.requests}`;
    throw new Failure('nothingRecorded', what, subject.onPort);
  }
  if (sample.peakRssBytes > budget.bytes) {
    const [used, allowed] = [sample.peakRssBytes, budget.bytes].map(formatMebibytes);
    throw new Failure('beyondMemory', `the unchanged service used ${used} of ${allowed}`, command);
  }
  const node = execPath ?? process.execPath;
  const version = (await askVersion(node)) ?? 'unknown';
  return { sample, runMs: performance.now() - startMs, percentile, node, version };
}

/** Without the unchanged service there is nothing to compare with. */
export function unchangedLost(of: LossOf, reason: string, { command }: Subject): Failure {
  return new Failure(EXITS[of], `the unchanged service: ${reason}`, command.join(' '));
}

/** `512 MiB (--memory)`. */
export function describeBudget({ bytes, source }: Budget): string {
  const of = {
    option: '--memory',
    'cgroup-v1': "the container's limit, cgroup v1",
    'cgroup-v2': "the container's limit, cgroup v2",
    host: 'all of the host, there is no limit',
  }[source];
  return `${formatMebibytes(bytes)} (${of})`;
}
