/** Which requests `bobtail export` is asked for, from the flags that were typed. */
import type { ExportSelection } from '../analysis';
import { Failure } from '../failure';
import { parseCount, parseDurationNs, parsePercentile } from '../quantity';
import { parseRequestId } from '../request-id';
import type { FormatName } from './formats';

/** As commander hands them over. */
export interface ExportFlags {
  format: FormatName;
  out: string;
  tail?: string;
  all: boolean;
  slowest?: string;
  request?: string[];
  route?: string;
  from?: string;
  to?: string;
  service?: string;
  quiet: boolean;
}

/** Times count from the start of the recording. */
export function parseSelection(flags: ExportFlags): ExportSelection {
  const { format, tail, all, slowest, request, route, from, to, service } = flags;
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
