/**
 * Gates of a difference: `p99.9<+10%`, `p99.gc<+5ms` (grammar: `docs/guide/comparing.md`).
 *
 * A bound is missed only by a change that is one: where the measured change lies beyond the bound
 * but within the noise, the gate is undecided, or half of all builds would fail by chance.
 */
import type { Change, Diff, RouteDiff } from '../cli/json/diff';
import {
  type Cause,
  type GateParts,
  notUnit,
  type Operator,
  parseCause,
  parsePercentileName,
  refuse,
  splitGate,
  TIME_UNITS,
} from './gate';
import { type GateOutcome, keeps } from './outcome';

/** Percentiles that are compared. */
const COMPARED = [99.9, 99, 50];
const ALL_ROUTES = '*';

/** A gate of a difference. */
export interface DiffGate {
  readonly text: string;
  readonly name: string;
  readonly route: string;
  /** Of a percentile, or of the mean. */
  readonly percentile: number | null;
  /** Of the requests beyond the percentile; null for the latency itself. */
  readonly cause: Cause | null;
  readonly operator: Operator;
  readonly bound: number;
  readonly unit: 'time' | 'share';
}

/** Parses one `--fail-on` of `diff`. Throws a `Failure`. */
export function parseDiffGate(text: string): DiffGate {
  const parts = splitGate(text);
  const { name, route, operator } = parts;
  if (parts.sign === '') {
    throw refuse(`${name} takes a change with its sign, such as +10% or +5ms`, text);
  }
  if (operator === '=') {
    throw refuse('a change is bounded by <, <=, > or >=', text);
  }
  const metric = parseMetric(parts);
  return { text, name, route: route ?? ALL_ROUTES, operator, ...metric, ...parseBound(parts) };
}

function parseMetric({ metric, text }: GateParts): Pick<DiffGate, 'percentile' | 'cause'> {
  if (metric === 'mean') {
    return { percentile: null, cause: null };
  }
  const [, percentileName = '', causeName] = /^(p\d+(?:\.\d+)?)(?:\.(.*))?$/.exec(metric) ?? [];
  const percentile = parsePercentileName(percentileName);
  if (percentile === undefined || !COMPARED.includes(percentile)) {
    const names = 'mean, p50, p99, p99.9 and, of each percentile, pN.CAUSE';
    throw refuse(`unknown metric ${JSON.stringify(metric)}, there are ${names}`, text);
  }
  return { percentile, cause: causeName === undefined ? null : parseCause(causeName, text) };
}

function parseBound({
  unit,
  sign,
  amount,
  name,
  text,
}: GateParts): Pick<DiffGate, 'bound' | 'unit'> {
  const size = sign === '-' ? -amount : amount;
  const timeUnit = TIME_UNITS[unit];
  if (unit === '%') {
    return { bound: size / 100, unit: 'share' };
  }
  if (timeUnit === undefined) {
    throw refuse(`${name} takes %, ns, us, ms or s${notUnit(unit)}`, text);
  }
  return { bound: size * timeUnit, unit: 'time' };
}

/** The routes that must be compared for the gates to be judged. */
export function gatedRoutes(gates: readonly DiffGate[]): string[] {
  return gates.map(({ route }) => route).filter((route) => route !== ALL_ROUTES);
}

/** What came of each gate, in their order; of a difference that tells `gatedRoutes`. */
export function judgeDiffGates(diff: Diff, gates: readonly DiffGate[]): GateOutcome[] {
  return gates.map((gate) => judge(gate, changeOf(diff, gate)));
}

type Found = readonly [Change | undefined, string];

function changeOf(diff: Diff, gate: DiffGate): Found {
  const route = diff.routes.find((one) => one.route === gate.route);
  if (route === undefined) {
    return [undefined, 'there is no request of this route'];
  }
  if (gate.percentile === null) {
    return [route.mean, 'too few requests or blocks of time'];
  }
  return ofPercentile(route, gate);
}

function ofPercentile(route: RouteDiff, { percentile, cause }: DiffGate): Found {
  const one = route.percentiles.find((candidate) => candidate.percentile === percentile);
  const note = one?.note ?? 'it was not measured in both';
  if (cause === null) {
    return [one?.latency, note];
  }
  return [one?.causes.find((candidate) => candidate.cause === cause), note];
}

function judge(gate: DiffGate, [change, lack]: Found): GateOutcome {
  const { text, name, operator, bound, unit } = gate;
  const told = { gate: text, name, operator, bound, unit, isChange: true };
  const scale = unit === 'time' ? 1 : change?.aNs;
  if (change === undefined || change.verdict === 'too-few' || change.deltaNs === null) {
    return { ...told, outcome: 'undecided', value: null, interval: null, reason: lack };
  }
  if (!scale) {
    const reason = 'there was none of it in A, of which it could be a share';
    return { ...told, outcome: 'undecided', value: null, interval: null, reason };
  }
  const value = change.deltaNs / scale;
  const { lowNs, highNs } = change;
  const interval =
    lowNs === null || highNs === null ? null : ([lowNs / scale, highNs / scale] as const);
  const measured = { ...told, value, interval };
  if (keeps(value, operator, bound)) {
    return { ...measured, outcome: 'passed', reason: null };
  }
  if (change.verdict === 'within-noise') {
    return { ...measured, outcome: 'undecided', reason: 'the change is within the noise' };
  }
  return { ...measured, outcome: 'missed', reason: null };
}
