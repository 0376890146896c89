// Latencies as counts in buckets 1 % wide, so that raw data of many runs stays small and can be
// added up; a percentile is told only where enough requests lie beyond it.

/** Of a bucket, as a natural logarithm. */
export const WIDTH = Math.log(1.01);
const BEYOND_MIN = 10;

export class LatencyHistogram {
  #counts = new Map();
  count = 0;

  /** `latencyMs` may be as low as a microsecond. */
  add(latencyMs, times = 1) {
    this.#addBucket(Math.round(Math.log(Math.max(latencyMs, 0.001) * 1000) / WIDTH), times);
  }

  #addBucket(bucket, times) {
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + times);
    this.count += times;
  }

  /** Latency in ms at the percentile `p` (0 to 100); null with fewer than 10 requests beyond. */
  percentileMs(p) {
    const beyond = this.count * (1 - p / 100);
    if (beyond < BEYOND_MIN) return null;
    let left = this.count - beyond;
    for (const [bucket, times] of [...this.#counts].sort((a, b) => a[0] - b[0])) {
      left -= times;
      if (left <= 0) return Math.exp(bucket * WIDTH) / 1000;
    }
    return null;
  }

  /** How many took longer, to the width of a bucket. */
  countOver(latencyMs) {
    const longer = [...this.#counts].filter(
      ([bucket]) => Math.exp(bucket * WIDTH) / 1000 > latencyMs,
    );
    return longer.reduce((sum, [, times]) => sum + times, 0);
  }

  /** `bucket:count` pairs, ascending. */
  toText() {
    const pairs = [...this.#counts].sort((a, b) => a[0] - b[0]);
    return pairs.map(([bucket, times]) => `${bucket}:${times}`).join(' ');
  }

  static fromText(text) {
    const histogram = new LatencyHistogram();
    for (const pair of text.split(' ').filter(Boolean)) {
      const [bucket, times] = pair.split(':').map(Number);
      histogram.#addBucket(bucket, times);
    }
    return histogram;
  }
}
