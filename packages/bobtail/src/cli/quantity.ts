/** Quantities on the command line: seconds, sizes, counts; each with its bounds and its error. */
import { Failure } from './failure';

const NS_PER_S = 1_000_000_000;
/** The smallest trace there is: its header, its string table and five chunks of 256 kB. */
const TRACE_MIB_MIN = 3;
const SIZE_UNITS: Readonly<Record<string, number>> = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 };

/** Seconds, as `30`, `0.5`, `30s`, `500ms` or `2m`, in nanoseconds. */
export function parseDurationNs(text: string, option: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text);
  const unit = { ms: 0.001, s: 1, m: 60, h: 3600 }[match?.[2] ?? 's'] ?? 1;
  const durationNs = Math.round(Number(match?.[1]) * unit * NS_PER_S);
  if (match === null || !Number.isSafeInteger(durationNs)) {
    throw new Failure('usage', `${option} takes seconds, such as 30 or 0.5`, text);
  }
  return durationNs;
}

/** Bytes, as `512m`, `2g` or `1048576`. */
export function parseSizeBytes(text: string, option: string): number {
  const match = /^(\d+)(k|m|g|)i?b?$/i.exec(text);
  const bytes = Number(match?.[1]) * (SIZE_UNITS[match?.[2]?.toLowerCase() ?? ''] ?? 1);
  if (match === null || !Number.isSafeInteger(bytes)) {
    throw new Failure('usage', `${option} takes a size, such as 512m or 2g`, text);
  }
  if (bytes < TRACE_MIB_MIN * 2 ** 20) {
    throw new Failure('usage', `${option} must be at least ${TRACE_MIB_MIN}m`, text);
  }
  return bytes;
}

/** A percentile, as `99.9` or `p99.9`. */
export function parsePercentile(text: string, option: string): number {
  const match = /^p?(\d+(?:\.\d+)?)$/.exec(text);
  const percentile = Number(match?.[1]);
  if (match === null || percentile <= 0 || percentile >= 100) {
    throw new Failure('usage', `${option} takes a percentile between 0 and 100`, text);
  }
  return percentile;
}

/** A whole number from 1. */
export function parseCount(text: string, option: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(count) || count < 1) {
    throw new Failure('usage', `${option} takes a whole number from 1`, text);
  }
  return count;
}
