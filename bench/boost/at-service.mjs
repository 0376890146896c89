// What requests of a turn took at the service itself, from when the kernel had them until their
// answer was handed to it, beside what the load saw.
//
// A replay tells the former. The load shares its core with databases and waits there, the longer
// the more comes at once, which no recording of a service has. The service counts what it answered
// and does not tell when (`crates/probe/src/act/exchanges.rs`), so that its counts are copied ten
// times a second, and the tenths near something that disturbed are left out whole.
import {
  added,
  countsOf,
  latencyOfBucketNs,
  NOTHING,
  readLatencyFiles,
  since,
} from '../../packages/bobtail/dist/cli/boost/latencies.js';
import { LatencyHistogram } from '../harness/latency-histogram.mjs';

const SLICE_MS = 100;

/** Counts that are copied until they are asked for. */
export class AtService {
  #looks = [];

  /** Of the processes whose files are in `folder`. */
  constructor(folder) {
    const look = () => {
      this.#looks.push({ atMs: performance.now(), files: readLatencyFiles(folder) });
    };
    look();
    this.look = look;
    this.timer = setInterval(look, SLICE_MS);
  }

  /** What was answered in each tenth of a second until now: `{fromMs, untilMs, counted}`. */
  end() {
    clearInterval(this.timer);
    this.look();
    const looks = this.#looks.map(({ atMs, files }) => {
      return { atMs, counted: files.map(countsOf).reduce(added, NOTHING) };
    });
    return looks.slice(1).map(({ atMs, counted }, index) => {
      const before = looks[index];
      return { fromMs: before.atMs, untilMs: atMs, counted: since(before.counted, counted) };
    });
  }
}

/** Those of slices that began when a turn counted, and no part of which was disturbed. */
export function histogramOf(slices, { fromMs, disturbed }) {
  const histogram = new LatencyHistogram();
  const isApart = (slice) => {
    return disturbed.every((one) => one.untilMs < slice.fromMs || one.fromMs > slice.untilMs);
  };
  for (const slice of slices.filter((one) => one.fromMs >= fromMs && isApart(one))) {
    for (const [bucket, times] of slice.counted.buckets) {
      histogram.add(latencyOfBucketNs(bucket) / 1e6, times);
    }
  }
  return histogram;
}
