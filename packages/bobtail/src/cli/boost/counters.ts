/** Counters of several drivers of a service. */
import type { DriverCounters } from './driver-file';

/** Of both together. */
export function sumOf(one: DriverCounters, other: DriverCounters): DriverCounters {
  return {
    looks: one.looks + other.looks,
    lookingNs: one.lookingNs + other.lookingNs,
    boosts: one.boosts + other.boosts,
    boostedNs: one.boostedNs + other.boostedNs,
    forCollection: one.forCollection + other.forCollection,
    forQueueLength: one.forQueueLength + other.forQueueLength,
    forHead: one.forHead + other.forHead,
    forLongTurn: one.forLongTurn + other.forLongTurn,
    refused: one.refused + other.refused,
    lostNs: one.lostNs + other.lostNs,
  };
}
