/**
 * What a boost did and what it cost.
 *
 * Energy is modelled, never measured, until a lever has a meter: the paper's power at 2.6, 3.3 and
 * 4.0 GHz is 1, 1.676 and 2.712 (VEE'19, figure 7), so a boost from 2.6 to 4.0 GHz costs 1.712
 * times the boosted share more. For other frequencies there are no points to go by.
 */
import type { DriveOptions } from '../../agent/boost/settings';
import { formatCount, formatDuration } from '../text/units';
import type { DriverCounters, DriverFile } from './driver-file';

/** Power relative to 2.6 GHz, by kHz. */
const POWER: ReadonlyMap<number, number> = new Map([
  [2_600_000, 1],
  [3_300_000, 1.676],
  [4_000_000, 2.712],
]);

/** `spec/boost.schema.json`. */
export interface BoostSummary {
  readonly schema: 'bobtail-boost/1';
  readonly policy: string;
  readonly actuator: string;
  /** The process that drives; null where none does. */
  readonly pid: number | null;
  /** Why nothing is boosted; null where it is. */
  readonly refused: string | null;
  readonly isEmulated: boolean;
  readonly about: string | null;
  readonly ranNs: number;
  readonly counters: DriverCounters | null;
  /** Of the time that was driven. */
  readonly boostedShare: number | null;
  readonly energy: { readonly kind: 'modelled'; readonly relativeToBase: number } | null;
}

/** Puts together what the processes tell: one of them drives, or says why it cannot. */
export function summarize(drive: DriveOptions, files: readonly DriverFile[]): BoostSummary {
  const about = { schema: 'bobtail-boost/1', actuator: drive.actuator } as const;
  const driving = files.find((file) => 'driven' in file);
  if (driving === undefined || !('driven' in driving)) {
    const refused = files.find((file) => 'refused' in file);
    return {
      ...about,
      policy: drive.policy,
      pid: refused?.pid ?? null,
      refused:
        refused !== undefined && 'refused' in refused
          ? refused.refused
          : 'no Node.js server listened',
      isEmulated: false,
      about: null,
      ranNs: 0,
      counters: null,
      boostedShare: null,
      energy: null,
    };
  }
  const { driven, counters, ranNs, pid } = driving;
  const boostedShare = ranNs > 0 ? Math.min(1, counters.boostedNs / ranNs) : 0;
  return {
    ...about,
    policy: driven.policy,
    pid,
    refused: null,
    isEmulated: driven.isEmulated,
    about: driven.about,
    ranNs,
    counters,
    boostedShare,
    energy: modelledEnergy(driven.base, driven.peak, boostedShare),
  };
}

function modelledEnergy(base: number, peak: number, boostedShare: number): BoostSummary['energy'] {
  const [basePower, peakPower] = [POWER.get(base), POWER.get(peak)];
  if (basePower === undefined || peakPower === undefined) {
    return null;
  }
  const relativeToBase = 1 + (peakPower / basePower - 1) * boostedShare;
  return { kind: 'modelled', relativeToBase };
}

/** For the terminal; the first line is the one that matters. */
export function renderSummary(summary: BoostSummary): string[] {
  const { counters, refused, policy, energy } = summary;
  if (counters === null) {
    return [`not boosted: ${refused}`];
  }
  const share = `${((summary.boostedShare ?? 0) * 100).toFixed(1)} %`;
  const boosted = formatDuration(counters.boostedNs);
  const parts = [
    summary.isEmulated ? 'EMULATED frequency' : summary.actuator,
    `${formatCount(counters.boosts)} boosts`,
    `boosted ${boosted} (${share})`,
    ...(energy === null ? [] : [`energy ${energy.relativeToBase.toFixed(3)}× (modelled)`]),
    ...(counters.refused === 0 ? [] : [`${formatCount(counters.refused)} refused by the lever`]),
  ];
  const reasons = [
    [counters.forCollection, 'for collections'],
    [counters.forQueueLength, 'for a long queue'],
    [counters.forHead, 'for a long event'],
  ] as const;
  const told = reasons.filter(([count]) => count > 0);
  return [
    parts.join(' · '),
    `${policy}${told.map(([count, why]) => ` · ${formatCount(count)} ${why}`).join('')}`,
    ...(summary.about === null ? [] : [summary.about]),
  ];
}
