/**
 * What came of a gate, and how that is told.
 *
 * There are three outcomes: where the recording cannot tell, a gate is neither passed nor missed,
 * and a build that went on as if it were passed would hide that nothing was measured.
 */
import { plain } from '../cli/text/plain';
import { formatCount, formatDuration, formatInterval } from '../cli/text/units';
import type { GateUnit, Operator } from './gate';

/** `undecided`: the recording cannot tell. */
export type Outcome = 'passed' | 'missed' | 'undecided';

/** A gate that was held against a recording, or against the difference of two. */
export interface GateOutcome {
  /** As it was typed. */
  readonly gate: string;
  /** What was measured. */
  readonly name: string;
  readonly outcome: Outcome;
  /** Nanoseconds, a share of one, or a number; null when it cannot be told. */
  readonly value: number | null;
  /** 95 % confidence interval; null where there is none. */
  readonly interval: readonly [number, number] | null;
  readonly operator: Operator;
  readonly bound: number;
  readonly unit: GateUnit;
  /** Of a difference: values are told with their sign. */
  readonly isChange: boolean;
  /** Why the recording cannot tell, or why there is no interval. */
  readonly reason: string | null;
}

/** Whether a value keeps its bound. */
export function keeps(value: number, operator: Operator, bound: number): boolean {
  switch (operator) {
    case '<':
      return value < bound;
    case '<=':
      return value <= bound;
    case '>':
      return value > bound;
    case '>=':
      return value >= bound;
    case '=':
      return value === bound;
  }
}

/** What was wanted: `<50.0 ms`. */
export function wantedText(one: GateOutcome): string {
  return one.operator + valueText(one.bound, one);
}

/** `p99.9 is 61.2 ms [58.0–66.1, 95 %], wanted <50.0 ms`. */
export function sentenceOf(one: GateOutcome): string {
  const wanted = `wanted ${wantedText(one)}`;
  const reason = one.reason === null ? '' : `: ${one.reason}`;
  if (one.value === null) {
    return plain(`${one.name} cannot be told, ${wanted}${reason}`);
  }
  return plain(`${one.name} is ${measuredText(one)}, ${wanted}${reason}`);
}

/** The value with its interval; `–` where there is none. */
export function measuredText(one: GateOutcome): string {
  const { value, interval, unit, isChange } = one;
  if (value === null) {
    return '–';
  }
  if (unit === 'time' && !isChange) {
    return formatInterval(value, interval ?? undefined);
  }
  const text = valueText(value, one);
  return interval === null
    ? text
    : `${text} [${interval.map((bound) => valueText(bound, one)).join(' – ')}, 95 %]`;
}

function valueText(value: number, { unit, isChange }: GateOutcome): string {
  const sign = value < 0 ? '−' : isChange ? '+' : '';
  const size = Math.abs(value);
  switch (unit) {
    case 'time':
      return sign + formatDuration(size);
    case 'share':
      return `${sign}${(size * 100).toFixed(1)} %`;
    case 'number':
      return sign + formatCount(size);
  }
}
