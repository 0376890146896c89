/**
 * What `bobtail export` is asked for, from what was typed: the format, the output, which requests.
 *
 * `--to` is the end of a time and, before a file, a format: `--to perfetto slow.pftrace`. A time
 * begins with a digit and no format does, so one cannot be taken for the other.
 */
import type { ExportSelection } from '../analysis';
import { Failure } from '../failure';
import { parseCount, parseDurationNs, parsePercentile } from '../quantity';
import { parseRequestId } from '../request-id';
import { FORMAT_NAMES, type FormatName } from './formats';

/** As commander hands them over. */
export interface ExportFlags {
  format?: FormatName;
  out?: string;
  tail?: string;
  all: boolean;
  slowest?: string;
  request?: string[];
  route?: string;
  from?: string;
  to: string[];
  service?: string;
  quiet: boolean;
}

/** All of it, as it is done. */
export interface ExportChoice {
  readonly format: FormatName;
  readonly out: string;
  readonly selection: ExportSelection;
}

/** `file` is what stands behind the recording, if anything does. Throws a `Failure`. */
export function parseExport(file: string | undefined, flags: ExportFlags): ExportChoice {
  const formats = flags.to.filter(isFormat);
  const times = flags.to.filter((value) => !isFormat(value));
  times.forEach(refuseUnknown);
  const format = only([...given(flags.format), ...formats], 'format', FORMAT_NAMES.join(', '));
  const out = only([...given(flags.out), ...given(file)], 'output', '--out or a file');
  if (times.length > 1) {
    throw new Failure('usage', '--to is given one time', times.join(' and '));
  }
  return { format, out, selection: parseSelection(flags, format, times[0]) };
}

function refuseUnknown(to: string): void {
  if (!/^\d/.test(to)) {
    const takes = `--to takes a format (${FORMAT_NAMES.join(', ')}) or seconds`;
    throw new Failure('usage', takes, to);
  }
}

function isFormat(value: string): value is FormatName {
  return (FORMAT_NAMES as readonly string[]).includes(value);
}

function given<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value];
}

function only<T extends string>(values: readonly T[], what: string, hint: string): T {
  const [value, ...more] = values;
  if (value === undefined) {
    throw new Failure('usage', `export needs one ${what}`, hint);
  }
  if (more.length > 0) {
    throw new Failure('usage', `export takes one ${what}`, values.join(' and '));
  }
  return value;
}

/** Times count from the start of the recording. */
function parseSelection(
  flags: ExportFlags,
  format: FormatName,
  to: string | undefined,
): ExportSelection {
  const { tail, all, slowest, request, route, from, service } = flags;
  const fromNs = from === undefined ? undefined : parseDurationNs(from, '--from');
  const toNs = to === undefined ? undefined : parseDurationNs(to, '--to');
  if (toNs !== undefined && toNs <= (fromNs ?? 0)) {
    throw new Failure('usage', '--to must be after --from', to);
  }
  if (service !== undefined && format !== 'otlp') {
    throw new Failure('usage', '--service goes with --format otlp', format);
  }
  return {
    ...(tail === undefined ? {} : { percentile: parsePercentile(tail, '--tail') }),
    ...(all ? { all } : {}),
    ...(slowest === undefined ? {} : { slowest: parseCount(slowest, '--slowest') }),
    ...(request === undefined ? {} : { requests: request.map(parseRequestId) }),
    ...(route === undefined ? {} : { route }),
    ...(fromNs === undefined ? {} : { fromNs }),
    ...(toNs === undefined ? {} : { toNs }),
    ...(service === undefined ? {} : { service }),
  };
}
