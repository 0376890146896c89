// Two arms that had one service in turns, turn by turn: how much shorter one's tail is at the
// service, and what its boosts cost beside the other's.
//
// Turns of the same place had the same arrivals, so they are drawn together, and each service's
// own. What is told of several services is the geometric mean of their ratios: one with a long
// tail has no more to say than one with a short one.
import { seededRandom } from '../../packages/bobtail/dist/prove/shuffle.js';
import { WIDTH } from '../harness/latency-histogram.mjs';
import { geometricMean, mean, quantile } from '../harness/statistics.mjs';

const PERCENTILES = [99, 99.9];
const RESAMPLES = 1000;
const SEED = 1;
/** Up to minutes. */
const BUCKETS = 2000;

/** Turns that count in all of these lists of cells of one service, side by side. */
export function turnsOf(lists) {
  const byPlace = lists.map((cells) => {
    const named = cells.flatMap(({ round, byTurn }) => {
      return byTurn.map((one) => [`${round}:${one.turn}`, one]);
    });
    return new Map(named);
  });
  const places = [...byPlace[0].keys()].filter((at) => byPlace.every((arm) => arm.has(at)));
  return places.map((at) => byPlace.map((arm) => counted(arm.get(at))));
}

function counted({ boostedShare, latenciesAtService: text }) {
  const pairs = text.split(' ').filter(Boolean);
  return { boostedShare, counts: Int32Array.from(pairs.flatMap((pair) => pair.split(':'))) };
}

/**
 * In ms, of some turns together; within a bucket as if it were even. Not by a `LatencyHistogram`,
 * whose buckets are a `Map`: thousands of samples of hundreds of turns are added up.
 */
function percentilesMs(turns) {
  const sums = new Float64Array(BUCKETS);
  let count = 0;
  for (const { counts } of turns) {
    for (let at = 0; at < counts.length; at += 2) {
      sums[counts[at]] += counts[at + 1];
      count += counts[at + 1];
    }
  }
  return PERCENTILES.map((percentile) => {
    let beyond = count * (1 - percentile / 100);
    let bucket = BUCKETS - 1;
    while (bucket > 0 && sums[bucket] < beyond) {
      beyond -= sums[bucket];
      bucket -= 1;
    }
    return Math.exp((bucket + 0.5 - beyond / sums[bucket]) * WIDTH) / 1000;
  });
}

/**
 * `ours` by `theirs`: places of arms in the turns of `turnsOf`, of which several are taken
 * together. Each percentile, then what is boosted.
 */
function ratiosOf(turns, ours, theirs) {
  const of = (places) => turns.flatMap((turn) => places.map((place) => turn[place]));
  const [own, other] = [of(ours), of(theirs)];
  const [ownMs, otherMs] = [own, other].map(percentilesMs);
  const [boosted, otherBoosted] = [own, other].map((all) => {
    return mean(all.map((one) => one.boostedShare));
  });
  return [...ownMs.map((ms, index) => ms / otherMs[index]), boosted / otherBoosted];
}

/**
 * Ratios with 95 % of a bootstrap over turns: `{p99, p999, premium}`, each
 * `{ratio, low, high}`, of each service and of all, and how many turns of each arm there are.
 */
export function compareByTurn(turnsOfServices, ours, theirs) {
  const random = seededRandom(SEED);
  const services = turnsOfServices.map((turns) => ratiosOf(turns, ours, theirs));
  const drawn = Array.from({ length: RESAMPLES }, () => {
    return turnsOfServices.map((turns) => {
      const sample = turns.map(() => turns[Math.floor(random() * turns.length)]);
      return ratiosOf(sample, ours, theirs);
    });
  });
  const all = (ratios) =>
    ratios[0].map((_, index) => geometricMean(ratios.map((one) => one[index])));
  const told = (found, samples) => {
    const [p99, p999, premium] = found.map((ratio, index) => {
      const sorted = samples.map((one) => one[index]).sort((a, b) => a - b);
      return { ratio, low: quantile(sorted, 0.025), high: quantile(sorted, 0.975) };
    });
    return { p99, p999, premium };
  };
  return {
    services: services.map((found, index) => {
      const samples = drawn.map((each) => each[index]);
      return { turns: turnsOfServices[index].length, ...told(found, samples) };
    }),
    all: told(all(services), drawn.map(all)),
  };
}
