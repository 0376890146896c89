/** Metrics to whoever wants them, while a boost runs: Prometheus asks, OpenTelemetry is told. */
import { basename } from 'node:path';
import { tell } from '../../console';
import type { Live } from '../live';
import { type Metric, metricsOf } from './metrics';
import { sendOtlp, type Teller, toOtlp } from './otlp';
import { type Address, serveMetrics } from './prometheus';

/** Who wants them. */
export interface Listeners {
  /** Where Prometheus asks. */
  readonly metrics?: Address;
  /** Where OpenTelemetry's receiver is. */
  readonly otlp?: URL;
}

/** Metrics that are being told. */
export interface Telling {
  /** Sends a last time, what is known until then. */
  end(): Promise<void>;
}

const SEND_EVERY_MS = 10_000;
/** Steering moves a wall clock by at most half a millisecond a second; what is more is a step. */
const STEP_MS = 1000;

/**
 * When this began, by the wall clock of now. It stays what it was, since receivers take another
 * start for another series, unless that clock was stepped: a start after its own time is refused.
 */
function startByWallClock(): (nowMs: number) => number {
  const [begunMs, begunAtMs] = [performance.now(), Date.now()];
  let startMs = begunAtMs;
  return (nowMs) => {
    const elapsedMs = performance.now() - begunMs;
    if (Math.abs(nowMs - elapsedMs - startMs) > STEP_MS) startMs = nowMs - elapsedMs;
    return startMs;
  };
}

/** Begins to tell. Rejects with a `Failure` where it cannot listen, before anything is started. */
export async function startTelling(
  { metrics: address, otlp }: Listeners,
  { command, version }: { command: readonly string[]; version: string },
  read: () => Live,
): Promise<Telling> {
  const service = process.env.OTEL_SERVICE_NAME || basename(command.at(-1) ?? 'node');
  const startedAt = startByWallClock();
  const metrics = (): Metric[] => metricsOf(read());
  const served = address === undefined ? undefined : await serveMetrics(address, metrics);
  if (served !== undefined) tell(`bobtail: metrics at ${served.url}`);
  let isTold = false;
  const send = async (): Promise<void> => {
    if (otlp === undefined) return;
    const nowMs = Date.now();
    const teller: Teller = { service, version, startMs: startedAt(nowMs) };
    const failed = await sendOtlp(otlp, toOtlp(metrics(), teller, nowMs));
    // Once, until it works again: a receiver that is away for an hour is one trouble.
    if (failed !== undefined && !isTold)
      tell(`bobtail: metrics were not taken: ${failed} (${otlp})`);
    isTold = failed !== undefined;
  };
  const timer = otlp === undefined ? undefined : setInterval(send, SEND_EVERY_MS);
  return {
    end: async () => {
      clearInterval(timer);
      await send();
      served?.close();
    },
  };
}
