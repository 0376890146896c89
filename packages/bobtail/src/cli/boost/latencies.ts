/**
 * How long requests of a boosted service took, from the counts that its processes keep in files
 * (`crates/probe/src/act/latencies.rs`): read by this process, so that the service tells nothing.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Latencies, percentilesNs } from '../../prove/sample';
import { hasCode } from '../failure';

/** Counts by bucket, and their sums. */
export interface Counted {
  readonly buckets: ReadonlyMap<number, number>;
  readonly count: number;
  readonly sumNs: number;
  readonly longestNs: number;
}

/** What is told of requests (`spec/boost.schema.json`). */
export interface RequestFigures {
  readonly count: number;
  readonly meanNs: number;
  readonly longestNs: number;
  /** Those with ten requests beyond them. */
  readonly percentilesNs: Readonly<Record<string, number>>;
}

const MAGIC = 'bobtlat1';
const HEAD_WORDS = 4;
const WORD_BYTES = 8;
const FINE_BITS = 7;

/** Nothing yet. */
export const NOTHING: Counted = { buckets: new Map(), count: 0, sumNs: 0, longestNs: 0 };

/** The middle of a bucket, which is off by less than 0.4 %. */
export function latencyOfBucketNs(bucket: number): number {
  const [from, to] = [shortestNs(bucket), shortestNs(bucket + 1)];
  return Math.floor((from + to) / 2);
}

function shortestNs(bucket: number): number {
  const power = Math.floor(bucket / 2 ** FINE_BITS);
  if (power === 0) return bucket;
  const shift = power - 1;
  return (bucket - shift * 2 ** FINE_BITS) * 2 ** shift;
}

/** All requests of all processes of a folder; none where the folder is gone. */
export function readLatencies(folder: string): Counted {
  return readLatencyFiles(folder).map(countsOf).reduce(added, NOTHING);
}

/** Those of one file; none where it is not there. */
export function countsIn(path: string): Counted {
  try {
    return countsOf(readFileSync(path));
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return NOTHING;
    throw error;
  }
}

/** What these are of, as it is now: a copy costs less than to count. */
export function readLatencyFiles(folder: string): Buffer[] {
  try {
    const names = readdirSync(folder).filter((name) => /^latencies-\d+-\d+$/.test(name));
    return names.map((name) => readFileSync(join(folder, name)));
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}

/** Those of one process's file, in the byte order of x64, the only machine there is a probe for. */
export function countsOf(bytes: Buffer): Counted {
  // One that is being made has no mark yet.
  if (bytes.length < HEAD_WORDS * WORD_BYTES || bytes.toString('latin1', 0, 8) !== MAGIC) {
    return NOTHING;
  }
  const words = new BigUint64Array(Uint8Array.from(bytes).buffer);
  const buckets = new Map<number, number>();
  let count = 0;
  for (let index = HEAD_WORDS; index < words.length; index += 1) {
    const times = Number(words[index]);
    if (times === 0) continue;
    buckets.set(index - HEAD_WORDS, times);
    count += times;
  }
  return { buckets, count, sumNs: Number(words[1]), longestNs: Number(words[2]) };
}

/** Both together. */
export function added(a: Counted, b: Counted): Counted {
  const buckets = new Map(a.buckets);
  for (const [bucket, times] of b.buckets) buckets.set(bucket, (buckets.get(bucket) ?? 0) + times);
  return {
    buckets,
    count: a.count + b.count,
    sumNs: a.sumNs + b.sumNs,
    longestNs: Math.max(a.longestNs, b.longestNs),
  };
}

/** What came since `before`; the longest is that of all, as nobody knows when it was. */
export function since(before: Counted, now: Counted): Counted {
  const buckets = new Map<number, number>();
  for (const [bucket, times] of now.buckets) {
    const more = times - (before.buckets.get(bucket) ?? 0);
    if (more > 0) buckets.set(bucket, more);
  }
  const { longestNs } = now;
  return { buckets, count: now.count - before.count, sumNs: now.sumNs - before.sumNs, longestNs };
}

/** As the percentiles of `prove` take them. */
export function latenciesOf({ buckets }: Counted): Latencies {
  return [...buckets]
    .sort(([a], [b]) => a - b)
    .map(([bucket, times]) => [latencyOfBucketNs(bucket), times] as const);
}

/** Null without a request. */
export function figuresOf(counted: Counted): RequestFigures | null {
  const { count, sumNs, longestNs } = counted;
  if (count === 0) return null;
  const meanNs = Math.round(sumNs / count);
  return { count, meanNs, longestNs, percentilesNs: percentilesNs(latenciesOf(counted), count) };
}
