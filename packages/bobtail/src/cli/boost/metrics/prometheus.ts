/** Metrics as Prometheus reads them: its text format 0.0.4, served on a port of one's own. */
import { createServer, type Server } from 'node:http';
import { isIPv6 } from 'node:net';
import { Failure, reasonOf } from '../../failure';
import type { HistogramMetric, Metric, NumberMetric } from './metrics';

/** Where to listen. */
export interface Address {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
}

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
const PORT_MAX = 65_535;
const LOOPBACK = '127.0.0.1';

/** `127.0.0.1:9464`, `[::1]:9464`, or a port of the loopback. Throws a `Failure`. */
export function parseAddress(text: string, option: string): Address {
  const match = /^(?:(\[[\da-fA-F:.]+\]|[^[\]:\s]+):)?(\d+)$/.exec(text);
  const port = Number(match?.[2]);
  const host = (match?.[1] ?? LOOPBACK).replace(/^\[|\]$/g, '');
  if (match === null || port > PORT_MAX) {
    throw new Failure('usage', `${option} takes an address, such as 127.0.0.1:9464`, text);
  }
  return { host, port };
}

/** The whole answer to a scrape. */
export function renderPrometheus(metrics: readonly Metric[]): string {
  return metrics
    .flatMap((metric) => [
      `# HELP ${metric.name} ${escaped(metric.help, /[\\\n]/g)}`,
      `# TYPE ${metric.name} ${metric.kind}`,
      ...(metric.kind === 'histogram' ? histogramLines(metric) : numberLines(metric)),
    ])
    .map((line) => `${line}\n`)
    .join('');
}

function numberLines({ name, points }: NumberMetric): string[] {
  return points.map(({ labels, value }) => line(name, labels, value));
}

function histogramLines({ name, bounds, counts, count, sum }: HistogramMetric): string[] {
  let below = 0;
  const buckets = bounds.map((bound, index) => {
    below += counts[index] ?? 0;
    return line(`${name}_bucket`, { le: String(bound) }, below);
  });
  return [
    ...buckets,
    line(`${name}_bucket`, { le: '+Inf' }, count),
    line(`${name}_sum`, {}, sum),
    line(`${name}_count`, {}, count),
  ];
}

function line(name: string, labels: Readonly<Record<string, string>>, value: number): string {
  const pairs = Object.entries(labels).map(
    ([label, text]) => `${label}="${escaped(text, /[\\\n"]/g)}"`,
  );
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`;
}

function escaped(text: string, which: RegExp): string {
  return text.replace(which, (character) => (character === '\n' ? '\\n' : `\\${character}`));
}

/**
 * Serves metrics at `/metrics`. Resolves to where, once it listens; rejects with a `Failure`.
 * Ends with the process, which it does not keep alive.
 */
export function serveMetrics(
  { host, port }: Address,
  read: () => readonly Metric[],
): Promise<{ readonly url: string; close(): void }> {
  const server = createServer((request, response) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const path = request.url?.split('?', 1)[0];
    if (!isRead || (path !== '/metrics' && path !== '/')) {
      response.writeHead(isRead ? 404 : 405).end();
      return;
    }
    response.writeHead(200, { 'content-type': CONTENT_TYPE }).end(renderPrometheus(read()));
  });
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const where = `${host}:${port}`;
      reject(new Failure('cannotWrite', `--metrics cannot listen: ${reasonOf(error)}`, where));
    });
    server.listen(port, host, () => {
      server.removeAllListeners('error');
      resolve({ url: urlOf(server, host), close: () => close(server) });
    });
    server.unref();
  });
}

function close(server: Server): void {
  server.close();
  server.closeAllConnections();
}

function urlOf(server: Server, host: string): string {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}/metrics`;
}
