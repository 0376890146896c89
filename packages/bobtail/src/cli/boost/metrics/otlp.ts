/**
 * Metrics to an OpenTelemetry receiver: OTLP over HTTP, in its JSON encoding.
 *
 * By `fetch` and the protocol's own JSON instead of OpenTelemetry's SDK, which cannot take counts
 * that somebody else made and would be the largest dependency of the whole command line.
 */
import { Failure, reasonOf } from '../../failure';
import type { HistogramMetric, Metric, NumberMetric } from './metrics';

const SEND_MS_MAX = 5_000;
/** AGGREGATION_TEMPORALITY_CUMULATIVE. */
const CUMULATIVE = 2;
const PATH = '/v1/metrics';

/** Who tells, and since when. */
export interface Teller {
  readonly service: string;
  readonly version: string;
  /** When counting began, in ms since 1970. */
  readonly startMs: number;
}

/** A receiver's address; without a path that of metrics is added. Throws a `Failure`. */
export function parseEndpoint(text: string, option: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new Failure('usage', `${option} takes a URL, such as http://127.0.0.1:4318`, text);
  }
  if (url.username !== '' || url.password !== '') {
    // Nor would it work: `fetch` takes no such URL. What is secret is not told again.
    throw new Failure('usage', `${option} takes a URL without a user or a password`, url.host);
  }
  if (url.pathname === '/') url.pathname = PATH;
  return url;
}

/** `ExportMetricsServiceRequest` of the protocol, in its JSON. */
export function toOtlp(metrics: readonly Metric[], teller: Teller, nowMs: number): object {
  const times = {
    startTimeUnixNano: nanoseconds(teller.startMs),
    timeUnixNano: nanoseconds(nowMs),
  };
  return {
    resourceMetrics: [
      {
        resource: { attributes: attributes({ 'service.name': teller.service }) },
        scopeMetrics: [
          {
            scope: { name: 'bobtail', version: teller.version },
            metrics: metrics.map((metric) => ({
              name: metric.name,
              description: metric.help,
              unit: metric.unit,
              ...(metric.kind === 'histogram'
                ? ofHistogram(metric, times)
                : ofNumber(metric, times)),
            })),
          },
        ],
      },
    ],
  };
}

interface Times {
  readonly startTimeUnixNano: string;
  readonly timeUnixNano: string;
}

function ofNumber({ kind, points }: NumberMetric, times: Times): object {
  const dataPoints = points.map(({ labels, value }) => ({
    attributes: attributes(labels),
    ...times,
    asDouble: value,
  }));
  return kind === 'gauge'
    ? { gauge: { dataPoints } }
    : { sum: { dataPoints, aggregationTemporality: CUMULATIVE, isMonotonic: true } };
}

function ofHistogram({ bounds, counts, count, sum }: HistogramMetric, times: Times): object {
  // 64-bit integers are text in the JSON of protobuf.
  const bucketCounts = counts.map(String);
  const point = { ...times, count: String(count), sum, bucketCounts, explicitBounds: bounds };
  return { histogram: { dataPoints: [point], aggregationTemporality: CUMULATIVE } };
}

function attributes(labels: Readonly<Record<string, string>>): object[] {
  return Object.entries(labels).map(([key, stringValue]) => ({ key, value: { stringValue } }));
}

function nanoseconds(ms: number): string {
  return `${BigInt(Math.round(ms * 1000)) * 1000n}`;
}

/** Sends; resolves to why that failed, undefined when it did not. Never rejects. */
export async function sendOtlp(url: URL, body: object): Promise<string | undefined> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(SEND_MS_MAX),
    });
    // The answer is read to its end, since the connection is used again only then.
    await response.arrayBuffer();
    return response.ok ? undefined : `it answered ${response.status}`;
  } catch (error) {
    const { cause } = error as { cause?: unknown };
    return reasonOf(cause ?? error);
  }
}
