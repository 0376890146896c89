/**
 * What a boost did and what it cost.
 *
 * Energy is measured where the processor counts it and the lever is real, else modelled for levers
 * that hold a frequency between boosts: a boost from 2.6 to 4.0 GHz costs 1.712 times the boosted
 * share more. A floor under a governor's own choice, or a quota, says nothing of what was used
 * without it; and what an imitated frequency uses is no figure of any.
 */
import type { DriveOptions } from '../../agent/boost/settings';
import { relativePower } from '../analysis';
import { countOf, formatCount, formatDuration, formatPercentile } from '../text/units';
import { sumOf } from './counters';
import { type Driven, type DriverCounters, type DriverFile, refusals } from './driver-file';
import { heldKhz } from './held-frequency';
import { type Counted, figuresOf, NOTHING, type RequestFigures } from './latencies';
import { type Raised, raisedShare } from './raised';

/** Levers at whose base a frequency is held. */
const HOLDS_FREQUENCY: ReadonlySet<string> = new Set(['emulated', 'cpufreq-userspace']);

/** A lever that was not held for longer has no modelled energy: what was used then is not known. */
export const LOST_SHARE_MAX = 0.01;

/** Of the time that was driven, what somebody must have seen who has seen it all. */
const OF_ALL_MIN = 0.95;

/** `spec/boost.schema.json`. */
export interface BoostSummary {
  readonly schema: 'bobtail-boost/1';
  readonly policy: string;
  readonly actuator: string;
  /** The kind of lever; null where none is driven. */
  readonly lever: string | null;
  /** How many processes drove it, of a cluster each worker. */
  readonly processes: number;
  /** The first process that drives; null where none does. */
  readonly pid: number | null;
  /** Why nothing is boosted, or not every process; null where all are. */
  readonly refused: string | null;
  /** How many are not. */
  readonly refusedProcesses: number;
  /** What could not be sensed or counted, each with the reason. */
  readonly missing: readonly string[];
  readonly isEmulated: boolean;
  readonly about: string | null;
  readonly ranNs: number;
  /** As `ranNs`, of all processes together. */
  readonly drivenNs: number;
  readonly counters: DriverCounters | null;
  /** Why a process had no lever for a while, or one that refused it; null where none had. */
  readonly lost: string | null;
  /** Whether one that went on to the end has none there. */
  readonly isLost: boolean;
  /** Of the time that was driven; of a lever that processes share, as long as one wanted it. */
  readonly boostedShare: number | null;
  /** How long the lever was up, in the mean where there are several; null where nobody says. */
  readonly raisedNs: number | null;
  readonly energy: Energy | null;
  /** Null where none was seen. */
  readonly requests: RequestFigures | null;
}

/** What was used, by a model or by the counters of the machine's packages. */
export type Energy =
  | { readonly kind: 'modelled'; readonly relativeToBase: number }
  | { readonly kind: 'measured'; readonly joules: number };

/** What this process saw beside what the service's tell. */
export interface Seen {
  readonly counted: Counted;
  /** What the machine used since the start; null where it does not count. */
  readonly energy: Energy | null;
  /** How long each lever was up that the processes share; empty where nobody says. */
  readonly raised: readonly Raised[];
  /** Why nobody tells anything, where that is known. */
  readonly silence?: Silence | undefined;
}

/** Of a process that cannot tell. */
export interface Silence {
  readonly pid: number;
  readonly why: string;
}

/** Where only the processes tell. */
export const NOTHING_SEEN: Seen = { counted: NOTHING, energy: null, raised: [] };

/** Puts together what processes tell, also ended ones: each that drives, or says why it cannot. */
export function summarize(
  drive: DriveOptions,
  files: readonly DriverFile[],
  seen: Seen = NOTHING_SEEN,
): BoostSummary {
  const requests = figuresOf(seen.counted);
  const about = { schema: 'bobtail-boost/1', actuator: drive.actuator } as const;
  const driving = files.filter((file) => 'driven' in file);
  const [first] = driving;
  const refused = refusals(files);
  const [refusal] = refused;
  const refusedProcesses = refused.reduce((sum, { processes = 1 }) => sum + processes, 0);
  const missing = [...new Set(files.flatMap((file) => file.missing))];
  if (first === undefined) {
    return {
      ...about,
      policy: drive.policy,
      pid: refusal?.pid ?? seen.silence?.pid ?? null,
      lever: null,
      processes: 0,
      refused: refusal?.refused ?? seen.silence?.why ?? 'no Node.js server listened',
      refusedProcesses,
      missing,
      isEmulated: false,
      about: null,
      ranNs: 0,
      drivenNs: 0,
      counters: null,
      lost: null,
      isLost: false,
      boostedShare: null,
      raisedNs: null,
      energy: null,
      requests,
    };
  }
  const { driven, pid } = first;
  const counters = driving.map((file) => file.counters).reduce(sumOf);
  const drivenNs = driving.reduce((sum, one) => sum + (one.drivenNs ?? one.ranNs), 0);
  const ranNs = Math.max(...driving.map((file) => file.ranNs));
  const boostedShare = shareOf(counters, drivenNs, ranNs, seen.raised);
  const holds = driving.map(({ hold }) => hold);
  return {
    ...about,
    policy: driven.policy,
    pid,
    lever: driven.lever,
    processes: driving.reduce((sum, { processes = 1 }) => sum + processes, 0),
    refused: refusal?.refused ?? null,
    refusedProcesses,
    missing,
    isEmulated: driven.isEmulated,
    about: driven.about,
    ranNs,
    drivenNs,
    counters,
    lost:
      (holds.find(({ isLost }) => isLost) ?? holds.find(({ lost }) => lost !== null))?.lost ?? null,
    isLost: holds.some(({ isLost }) => isLost),
    boostedShare,
    raisedNs: meanRaisedNs(seen.raised),
    energy:
      (driven.isEmulated ? null : seen.energy) ??
      (counters.lostNs > LOST_SHARE_MAX * drivenNs ? null : modelledEnergy(driven, boostedShare)),
    requests,
  };
}

/** Of the time that was driven. */
function shareOf(
  { boostedNs, lostNs }: DriverCounters,
  drivenNs: number,
  ranNs: number,
  raised: readonly Raised[],
): number {
  const own = Math.min(1, boostedNs / (drivenNs || 1));
  // Who moves the lever knows best, also of a loss: who has lost it believes for a while that it
  // is up.
  if (lostNs === 0 || isOfAll(raised, ranNs)) return raisedShare(raised) ?? own;
  // Each knows less than all of it: who moved the levers may have ended before it was asked again,
  // and of processes that share one each counts its own boosts.
  return Math.max(own, raisedShare(raised, ranNs) ?? 0);
}

function meanRaisedNs(raised: readonly Raised[]): number | null {
  if (raised.length === 0) return null;
  return Math.round(raised.reduce((sum, one) => sum + one.raisedNs, 0) / raised.length);
}

/** Whether each lever was asked about until the end, by the one who had it from the start. */
function isOfAll(raised: readonly Raised[], ranNs: number): boolean {
  return raised.length > 0 && raised.every(({ ofNs }) => ofNs >= ranNs * OF_ALL_MIN);
}

function modelledEnergy(driven: Driven, boostedShare: number): Energy | null {
  const { policy, lever, base, peak } = driven;
  if (!HOLDS_FREQUENCY.has(lever)) return null;
  // Its boost is not to the peak.
  const held = heldKhz(policy) ?? peak;
  const relativeToBase = 1 + (relativePower(Math.min(held, peak) / base) - 1) * boostedShare;
  return { kind: 'modelled', relativeToBase };
}

/** For the terminal; the first line is the one that matters. */
export function renderSummary(summary: BoostSummary): string[] {
  const { counters, refused, refusedProcesses, policy, energy } = summary;
  if (counters === null) {
    return [`not boosted: ${refused}`];
  }
  const share = `${((summary.boostedShare ?? 0) * 100).toFixed(1)} %`;
  // What processes count overlaps where they share a lever, and goes on until they hear that a
  // lever went down by itself.
  const boosted = formatDuration(summary.raisedNs ?? counters.boostedNs);
  const parts = [
    summary.isEmulated ? 'EMULATED frequency' : (summary.lever ?? summary.actuator),
    ...(summary.processes > 1 ? [`${formatCount(summary.processes)} processes`] : []),
    countOf(counters.boosts, 'boost'),
    `boosted ${boosted} (${share})`,
    ...(energy === null ? [] : [`energy ${renderEnergy(energy)}`]),
    ...(counters.refused === 0 ? [] : [`${formatCount(counters.refused)} refused by the lever`]),
  ];
  const reasons = [
    [counters.forCollection, 'for collections'],
    [counters.forQueueLength, 'for a long queue'],
    [counters.forHead, 'for a long event'],
    [counters.forLongTurn, 'for a long turn'],
  ] as const;
  const told = reasons.filter(([count]) => count > 0);
  const whole = countOf(refusedProcesses, 'process');
  return [
    parts.join(' · '),
    ...(refusedProcesses === 0 ? [] : [`${whole} not boosted: ${refused}`]),
    ...summary.missing.map((one) => `not seen: ${one}`),
    ...(summary.lost === null ? [] : [renderLost(summary.lost, counters, summary)]),
    ...(summary.requests === null ? [] : [renderRequests(summary.requests)]),
    [
      policy,
      ...told.map(([count, why]) => `${formatCount(count)} ${why}`),
      renderLooks(counters),
    ].join(' · '),
    ...(summary.about === null ? [] : [summary.about]),
  ];
}

function renderLost(
  why: string,
  { lostNs }: DriverCounters,
  { isLost, processes }: BoostSummary,
): string {
  const [what, since] = isLost ? ['no lever', ', to the end'] : ['had no lever', ''];
  const of = processes > 1 ? ' of all processes together' : '';
  return `${what} for ${formatDuration(lostNs)}${of}${since}: ${why}`;
}

/** As `whatif --look` takes what one costs. */
function renderLooks({ looks, lookingNs }: DriverCounters): string {
  const each = looks > 0 ? ` of ${formatDuration(lookingNs / looks)}` : '';
  return `${countOf(looks, 'look')}${each}`;
}

function renderEnergy(energy: Energy): string {
  return energy.kind === 'modelled'
    ? `${energy.relativeToBase.toFixed(3)}× (modelled)`
    : `${energy.joules.toFixed(1)} J (measured: RAPL, the whole machine)`;
}

/** `1,204 requests · p50 1.20 ms · p99 4.80 ms`. */
export function renderRequests({ count, percentilesNs }: RequestFigures): string {
  const told = [50, 99, 99.9].flatMap((one) => {
    const ns = percentilesNs[String(one)];
    return ns === undefined ? [] : [`${formatPercentile(one)} ${formatDuration(ns)}`];
  });
  return [countOf(count, 'request'), ...told].join(' · ');
}
