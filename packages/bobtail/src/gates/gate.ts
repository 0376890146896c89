/**
 * Gates: bounds that a recording must keep, such as `p99.9<50ms` (grammar: `docs/guide/ci.md`).
 *
 * They are read before the recording is, so that a misspelt one costs nobody an analysis, and a
 * name that is not known is refused instead of never being missed.
 */
import { Failure } from '../cli/failure';

/** Causes of the tail that have a gate, as they are typed and as the analysis calls them. */
export const CAUSES = [
  'io',
  'queue',
  'exec',
  'unattributed',
  'native',
  'gc',
  'jit',
  'ic',
  'loop',
  'notRunning',
] as const;

/** One of them. */
export type Cause = (typeof CAUSES)[number];

/** What a gate is about. */
export type Metric =
  | { readonly kind: 'count' | 'mean' | 'tail' | 'losses' | 'unavailable' }
  | { readonly kind: 'percentile'; readonly percentile: number }
  | { readonly kind: 'cause'; readonly cause: Cause };

/** How a value may lie to its bound. */
export type Operator = '<' | '<=' | '>' | '>=' | '=';

/** What a bound is: nanoseconds, a share of one, or a number. */
export type GateUnit = 'time' | 'share' | 'number';

/** A gate. */
export interface Gate {
  /** As it was typed. */
  readonly text: string;
  /** What is measured, as it was typed: `p99.9`, `route("GET /x").mean`. */
  readonly name: string;
  /** null for all routes. */
  readonly route: string | null;
  readonly metric: Metric;
  readonly operator: Operator;
  readonly bound: number;
  readonly unit: GateUnit;
}

/** A gate in its parts; what they mean depends on what is gated. */
export interface GateParts {
  readonly text: string;
  readonly name: string;
  readonly route: string | null;
  readonly metric: string;
  readonly operator: Operator;
  readonly sign: '' | '+' | '-';
  readonly amount: number;
  readonly unit: string;
}

/** An operator and a signed number with its unit at the end; what is before is the metric. */
const BOUND = /(<=|>=|<|>|=)\s*([+-]?)(\d+(?:\.\d+)?)\s*([a-zµ%]*)$/;
const ROUTE = /^route\(("(?:[^"\\]|\\.)*")\)\.(.*)$/s;
/** Nanoseconds of each unit of time. */
export const TIME_UNITS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  ms: 1e6,
  s: 1e9,
};
const METRICS = 'count, mean, pN, tail, tail.CAUSE, losses, unavailable';

/** Parses one `--fail-on` of `report`. Throws a `Failure`. */
export function parseGate(text: string): Gate {
  const parts = splitGate(text);
  const metric = parseMetric(parts);
  if (parts.sign !== '') {
    throw refuse(`${parts.name} takes a bound without a sign`, text);
  }
  if (parts.route !== null && (metric.kind === 'losses' || metric.kind === 'unavailable')) {
    throw refuse(`${metric.kind} is of the whole recording, not of a route`, text);
  }
  const { name, route, operator } = parts;
  return { text, name, route, metric, operator, ...parseBound(parts, metric) };
}

/** The parts of a gate. Throws a `Failure` where it has not the form of one. */
export function splitGate(text: string): GateParts {
  const trimmed = text.trim();
  const bound = BOUND.exec(trimmed);
  if (bound === null) {
    throw refuse('takes a metric, an operator and a bound, such as p99.9<50ms', text);
  }
  const [whole, operator, sign, amount, unit] = bound;
  const name = trimmed.slice(0, trimmed.length - whole.length).trim();
  const routed = ROUTE.exec(name);
  if (routed === null && name.startsWith('route')) {
    throw refuse('a route is named as route("GET /x").p99', text);
  }
  return {
    text,
    name,
    route: routed === null ? null : parseRoute(routed[1] as string, text),
    metric: routed === null ? name : (routed[2] as string),
    operator: operator as Operator,
    sign: sign as GateParts['sign'],
    amount: Number(amount),
    unit: unit as string,
  };
}

function parseRoute(quoted: string, text: string): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    throw refuse('the route is no JSON string', text);
  }
}

function parseMetric({ metric, text }: GateParts): Metric {
  switch (metric) {
    case 'count':
    case 'mean':
    case 'tail':
    case 'losses':
    case 'unavailable':
      return { kind: metric };
  }
  const percentile = parsePercentileName(metric);
  if (percentile !== undefined) {
    return { kind: 'percentile', percentile };
  }
  if (metric.startsWith('tail.')) {
    return { kind: 'cause', cause: parseCause(metric.slice('tail.'.length), text) };
  }
  throw refuse(`unknown metric ${JSON.stringify(metric)}, there are ${METRICS}`, text);
}

/** `p99.9`; undefined for what is no percentile. */
export function parsePercentileName(name: string): number | undefined {
  const match = /^p(\d+(?:\.\d+)?)$/.exec(name);
  const percentile = Number(match?.[1]);
  return match !== null && percentile > 0 && percentile < 100 ? percentile : undefined;
}

/** A cause by its name. Throws a `Failure`. */
export function parseCause(name: string, text: string): Cause {
  const cause = CAUSES.find((one) => one === name);
  if (cause === undefined) {
    throw refuse(`unknown cause ${JSON.stringify(name)}, there are ${CAUSES.join(', ')}`, text);
  }
  return cause;
}

function parseBound(parts: GateParts, metric: Metric): Pick<Gate, 'bound' | 'unit'> {
  const { amount, unit, name, text } = parts;
  const timeUnit = TIME_UNITS[unit];
  switch (metric.kind) {
    case 'count':
    case 'losses':
    case 'unavailable':
      if (unit !== '' || !Number.isInteger(amount)) {
        throw refuse(`${name} takes a whole number without a unit`, text);
      }
      return { bound: amount, unit: 'number' };
    case 'cause':
      if (unit === '%') {
        return { bound: amount / 100, unit: 'share' };
      }
      if (timeUnit === undefined) {
        throw refuse(`${name} takes %, ns, us, ms or s${notUnit(unit)}`, text);
      }
      return { bound: amount * timeUnit, unit: 'time' };
    default:
      if (timeUnit === undefined) {
        throw refuse(`${name} takes ns, us, ms or s${notUnit(unit)}`, text);
      }
      return { bound: amount * timeUnit, unit: 'time' };
  }
}

/** The end of a complaint about a unit. */
export function notUnit(unit: string): string {
  return unit === '' ? '' : `, not ${unit}`;
}

/** A gate that is not understood. */
export function refuse(what: string, text: string): Failure {
  return new Failure('usage', `--fail-on: ${what}`, text);
}
