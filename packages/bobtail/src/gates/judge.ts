/** Holds gates against one recording. */
import { analyzeGauges, analyzeReport, type Gauge, type Gauged } from '../cli/analysis';
import type { Report } from '../cli/json/report';
import { isNotAsked } from '../cli/report/sentences';
import { formatCount } from '../cli/text/units';
import type { Gate } from './gate';
import { type GateOutcome, keeps } from './outcome';

/** A gate's value, and why there is none or no interval. */
type Measured = Pick<GateOutcome, 'value' | 'interval' | 'reason'>;

/**
 * What came of each gate, in their order. `report` is that of the same recording and percentile,
 * where there is one already. Rejects with a `Failure` when the recording cannot be read.
 */
export async function judgeGates(
  folder: string,
  gates: readonly Gate[],
  options: { readonly percentile?: number; readonly report?: Report } = {},
): Promise<GateOutcome[]> {
  const { percentile } = options;
  const tail = percentile === undefined ? {} : { percentile };
  const report = options.report ?? (await analyzeReport(folder, tail));
  const gauges = gates.map((gate) => gaugeOf(gate));
  const wanted = gauges.filter((one) => one !== undefined);
  const answers = wanted.length === 0 ? [] : await analyzeGauges(folder, wanted, tail);
  const remaining = answers.values();
  return gates.map((gate, index) => {
    const gauged = gauges[index] === undefined ? undefined : remaining.next().value;
    const measured = gauged === undefined ? countOf(gate, report) : measuredBy(gate, gauged);
    return outcomeOf(gate, measured);
  });
}

/** What the analysis must measure; undefined for what the report tells. */
function gaugeOf({ route, metric }: Gate): Gauge | undefined {
  switch (metric.kind) {
    case 'mean':
    case 'tail':
      return { route, figure: metric.kind };
    case 'percentile':
      return { route, figure: { percentile: metric.percentile } };
    case 'cause':
      return { route, figure: { tailCause: metric.cause } };
    case 'count':
      return route === null ? undefined : { route, figure: 'mean' };
    default:
      return undefined;
  }
}

function countOf({ metric }: Gate, report: Report): Measured {
  const value = (): number => {
    switch (metric.kind) {
      case 'losses':
        return Object.values(report.losses).reduce((sum, one) => sum + one, 0);
      case 'unavailable':
        return report.unavailable.filter(({ reason }) => !isNotAsked(reason)).length;
      default:
        return report.requests.count;
    }
  };
  return { value: value(), interval: null, reason: null };
}

function measuredBy(gate: Gate, gauged: Gauged): Measured {
  if (gate.metric.kind === 'count') {
    return { value: gauged.count, interval: null, reason: null };
  }
  if (gauged.lack !== null) {
    return { value: null, interval: null, reason: lackOf(gate, gauged) };
  }
  const share = gate.unit === 'share';
  const interval = share ? gauged.intervalShare : gauged.intervalNs;
  return {
    value: share ? gauged.share : gauged.valueNs,
    interval,
    reason: interval === null ? 'too few incidents or blocks of time for an interval' : null,
  };
}

function lackOf({ route, metric }: Gate, { lack, count, needed }: Gauged): string {
  switch (lack) {
    case 'no-requests':
      return metric.kind === 'tail' || metric.kind === 'cause'
        ? `no request${route === null ? '' : ' of this route'} is in the tail`
        : 'there is no request of this route';
    case 'too-few':
      return `${formatCount(needed ?? 0)} requests are needed, there are ${formatCount(count)}`;
    default:
      return 'it was not measured';
  }
}

function outcomeOf(gate: Gate, measured: Measured): GateOutcome {
  const { text, name, operator, bound, unit } = gate;
  const { value } = measured;
  const decided = value === null ? 'undecided' : keeps(value, operator, bound);
  const outcome = decided === 'undecided' ? decided : decided ? 'passed' : 'missed';
  return { gate: text, name, outcome, operator, bound, unit, isChange: false, ...measured };
}
