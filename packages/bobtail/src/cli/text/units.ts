/**
 * Figures for people: three significant digits and the unit that fits.
 *
 * JSON carries whole nanoseconds; only text meant to be read is rounded, and only here.
 */

const DURATION_UNITS: readonly (readonly [number, string])[] = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
];

/** `48.2 ms`, `1.84 ms`, `310 ns`, `2 m 05 s`. */
export function formatDuration(durationNs: number): string {
  if (durationNs >= 60e9) {
    const seconds = Math.round(durationNs / 1e9);
    return `${Math.floor(seconds / 60)} m ${String(seconds % 60).padStart(2, '0')} s`;
  }
  for (const [unitNs, unit] of DURATION_UNITS) {
    // 999.6 µs reads 1.00 ms, not 1000 µs.
    if (durationNs >= unitNs * 0.9995) {
      return `${threeDigits(durationNs / unitNs)} ${unit}`;
    }
  }
  return `${Math.round(durationNs)} ns`;
}

function threeDigits(value: number): string {
  if (value >= 99.95) {
    return value.toFixed(0);
  }
  return value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

/** `48.2 ms [45.9–51.0, 95 %]`: the interval in the unit of the value, and how sure it is. */
export function formatInterval(valueNs: number, interval?: readonly [number, number]): string {
  const text = formatDuration(valueNs);
  if (interval === undefined) {
    return text;
  }
  const [low, high] = interval.map(formatDuration) as [string, string];
  const unit = text.slice(text.lastIndexOf(' '));
  return low.endsWith(unit) && high.endsWith(unit)
    ? `${text} [${low.slice(0, -unit.length)}–${high.slice(0, -unit.length)}, 95 %]`
    : `${text} [${low}–${high}, 95 %]`;
}

/** `6 %`; `<1 %` for what is there but rounds away; `–` where there is nothing to divide by. */
export function formatShare(part: number, whole: number): string {
  if (whole <= 0) {
    return '–';
  }
  const percent = (part / whole) * 100;
  if (percent > 0 && percent < 0.5) {
    return '<1 %';
  }
  return `${Math.round(percent)} %`;
}

/** `44.1 %`, for shares that are compared with each other. */
export function formatFineShare(part: number, whole: number): string {
  if (whole <= 0) {
    return '–';
  }
  const percent = (part / whole) * 100;
  return percent > 0 && percent < 0.05 ? '<0.1 %' : `${percent.toFixed(1)} %`;
}

/** `11,874`. */
export function formatCount(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** `1 request`, `12 requests`. */
export function countOf(count: number, noun: string): string {
  const plural = noun.endsWith('s') ? `${noun}es` : `${noun}s`;
  return `${formatCount(count)} ${count === 1 ? noun : plural}`;
}

/** `38 MB`. */
export function formatBytes(bytes: number): string {
  for (const [unitBytes, unit] of [
    [1e9, 'GB'],
    [1e6, 'MB'],
    [1e3, 'kB'],
  ] as const) {
    if (bytes >= unitBytes * 0.9995) {
      const value = bytes / unitBytes;
      return `${value >= 9.95 ? value.toFixed(0) : value.toFixed(1)} ${unit}`;
    }
  }
  return `${bytes} B`;
}

/** `512 MiB`: in the unit that V8's flags and containers count in. */
export function formatMebibytes(bytes: number): string {
  return `${formatCount(bytes / 2 ** 20)} MiB`;
}

/** `99.9` → `p99.9`. */
export function formatPercentile(percentile: number | string): string {
  return `p${percentile}`;
}
