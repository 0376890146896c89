/**
 * One run of one arm, however it is run: what is run, within which bounds, and what came of it.
 *
 * A run that measured nothing is a result and no error: of many runs some may be lost, and the
 * experiment decides how many are too many.
 */
import type { Outcome } from '../cli/json/run';
import { formatDuration } from '../cli/text/units';
import type { Arm } from './arm';
import type { Usage } from './resources';
import type { RoundFolder } from './round-folder';
import type { Sample } from './sample';

/** The service that is experimented with, and its load. */
export interface Subject {
  readonly command: readonly string[];
  readonly onPort: string;
  readonly warmupNs: number;
  /** Stop it so long after it listens, if the load has not ended by then. */
  readonly durationNs?: number;
}

/** Bounds of a run, and what ends it before. */
export interface RoundLimits {
  readonly listenMs: number;
  readonly runMs: number;
  readonly signal: AbortSignal;
}

/** Why a run measured nothing; `change` where the change was not there at all. */
export type LossOf = 'service' | 'load' | 'time' | 'change' | 'requests';

/** A run that measured nothing. */
export interface Lost {
  readonly kind: 'lost';
  readonly of: LossOf;
  readonly reason: string;
}

/** What came of a run. */
export type RoundResult =
  | { readonly kind: 'measured'; readonly sample: Sample; readonly execPath: string | undefined }
  | Lost
  | { readonly kind: 'interrupted' };

/** Runs an arm once. Rejects with a `Failure` when the command cannot be started. */
export type Runner = (subject: Subject, arm: Arm, limits: RoundLimits) => Promise<RoundResult>;

/** What a service had used at a moment of this process' clock. */
export interface Moment extends Usage {
  readonly atMs: number;
}

/** In a millisecond. */
export const NS_PER_MS = 1e6;
const MS_PER_S = 1e3;

/** A run that measured nothing because of `of`. */
export function lost(of: LossOf, reason: string): Lost {
  return { kind: 'lost', of, reason };
}

/** The load was over before what is measured began. */
export function lostToWarmup(): Lost {
  return lost('time', 'it was over before its warm-up was');
}

/** The service was not ready in time, and what it said last. */
export function didNotListen(withinMs: number, said = ''): string {
  return `it did not listen within ${formatMs(withinMs)}${said}`;
}

/** The load did not end in time. */
export function wasNotDone(afterMs: number): string {
  return `it was not done after ${formatMs(afterMs)}`;
}

/** A service that ended by itself, with its last words. */
export function lostService({ exitCode, signal }: Outcome, folder: RoundFolder): Lost {
  const how = signal === null ? `ended with exit code ${exitCode}` : `died of ${signal}`;
  return lost('service', `it ${how}${folder.said('service')}`);
}

/** What so many requests cost between two moments. */
export function spent(
  begin: Moment,
  end: Moment,
  requests: number,
): Pick<Sample, 'requests' | 'cpuNsPerRequest' | 'requestsPerS' | 'peakRssBytes'> {
  return {
    requests,
    cpuNsPerRequest: (end.cpuNs - begin.cpuNs) / requests,
    requestsPerS: requests / ((end.atMs - begin.atMs) / MS_PER_S),
    peakRssBytes: end.peakRssBytes,
  };
}

function formatMs(ms: number): string {
  return formatDuration(ms * NS_PER_MS);
}
