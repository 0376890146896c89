/** What the answer of `whatif` says in words and figures, on the terminal and on its page alike. */
import type {
  Frontier,
  FrontierPoint,
  Outcome,
  Predicted,
  Sensitivity,
  Shed,
  TypeOutcome,
  WhatIf,
} from '../json/what-if';
import { countOf, formatDuration, formatPercentile } from '../text/units';

const POLICY = 'policy=';
const TYPES_SHOWN = 4;

/** `−31 %`; no change and no sure one look alike. */
export function changeText(change: number): string {
  const percent = change * 100;
  if (Math.abs(percent) < 0.05) {
    return '±0 %';
  }
  const digits = Math.abs(percent) < 9.95 ? 1 : 0;
  return `${percent < 0 ? '−' : '+'}${Math.abs(percent).toFixed(digits)} %`;
}

/** A percentile of a scenario, if it has one. */
export function predictedOf(one: Outcome, percentile: number): Predicted | undefined {
  return one.percentiles.find((each) => each.percentile === percentile);
}

/** `gc-boost` of `policy=gc-boost`: in a figure of policies alone that goes without saying. */
export function schemeName(name: string): string {
  return name.startsWith(POLICY) ? name.slice(POLICY.length) : name;
}

/** `21.2 %`; longer is below 0. */
export function reductionText(reduction: number): string {
  const text = Math.abs(reduction * 100).toFixed(1);
  return `${reduction < 0 && text !== '0.0' ? '−' : ''}${text} %`;
}

/** The interval of a reduction, where it can be told. */
export function reductionIntervalText({ reductionInterval }: FrontierPoint): string {
  return reductionInterval === null ? '' : reductionInterval.map(reductionText).join(' to ');
}

/** Those on the frontier by energy, then the others. */
export function frontierOrder({ points }: Frontier): FrontierPoint[] {
  const isBeaten = (one: FrontierPoint): number => (one.beatenBy === null ? 0 : 1);
  return [...points].sort((a, b) => isBeaten(a) - isBeaten(b) || a.energy - b.energy);
}

/** `on the frontier`, or who is better. */
export function standing({ beatenBy }: FrontierPoint): string {
  return beatenBy === null ? 'on the frontier' : `beaten by ${schemeName(beatenBy)}`;
}

/** The answer in one line. */
export function headline(answer: WhatIf): string {
  const { frontier, scenarios } = answer;
  const tail = formatPercentile(answer.percentiles[0] ?? 0);
  if (frontier !== null) {
    const [, ...schemes] = frontier.points;
    const best = frontierOrder(frontier).filter(
      (one) => one.beatenBy === null && schemes.includes(one) && one.reduction > 0,
    );
    if (best.length === 0) {
      return `No scheme makes ${tail} shorter.`;
    }
    const names = best.map((one) => schemeName(one.name)).join(', ');
    const beaten = `${schemes.length - best.length} of ${schemes.length}`;
    return `${tail} against energy: on the frontier ${names}; ${beaten} are not.`;
  }
  const told = scenarios.flatMap((one) => {
    const change = predictedOf(one, answer.percentiles[0] ?? 0)?.change;
    return change === undefined ? [] : [{ name: one.name, change }];
  });
  const best = told.sort((a, b) => a.change - b.change)[0];
  if (best !== undefined) {
    return `${best.name}: ${tail} ${changeText(best.change)}.`;
  }
  const first = answer.sensitivity[0];
  return first === undefined || first.gainNs <= 0
    ? `No component alone makes ${tail} shorter.`
    : `10 % less of ${first.component} makes ${tail} ${formatDuration(first.gainNs)} shorter.`;
}

/** Why a scenario has no percentile; undefined where it has. */
export function saturationText(one: Outcome): string | undefined {
  if (one.saturated === null) {
    return undefined;
  }
  const use = one.saturated === 'loop' ? one.loopUse : one.poolUse;
  const what = one.saturated === 'loop' ? 'the event loop' : 'the thread pool';
  return (
    `${what} would have ${use.toFixed(2)} times as much work as time. ` +
    'Latency grows for as long as the load lasts, so it has no percentile.'
  );
}

/** What a policy aimed at and whether it came to that; which types it knew; whom it turned away. */
export function aimTexts({ policy, saturated, shed }: Outcome): string[] {
  const said: string[] = [];
  if (shed !== null) {
    said.push(shedText(shed, saturated === null));
  }
  if (policy?.target && saturated === null) {
    const { percentile, latencyNs, reachedNs } = policy.target;
    const wanted = `${formatPercentile(percentile)} shall be ${formatDuration(latencyNs)}`;
    const missed = reachedNs > latencyNs ? 'missed' : 'met';
    said.push(`${wanted}, is ${formatDuration(reachedNs)}: ${missed}.`);
  }
  if (policy?.types) {
    const shown = policy.types.slice(0, TYPES_SHOWN).map(typeText).join(', ');
    const more = policy.types.length - TYPES_SHOWN;
    const rest = more > 0 ? `, and ${countOf(more, 'route')} less likely` : '';
    said.push(`in the tail with a probability of ${shown}${rest}.`);
  }
  return said;
}

/** `2.1 % of the requests are turned away (14 times, for up to 52 ms); the percentiles …`. */
function shedText({ requests, share, times, longestNs }: Shed, hasPercentiles: boolean): string {
  if (requests === 0) {
    return 'nobody is turned away.';
  }
  const often = `${countOf(times, 'time')}, for up to ${formatDuration(longestNs)}`;
  const away = `${(share * 100).toFixed(2)} % of the requests are turned away`;
  return `${away} (${often})${hasPercentiles ? '; the percentiles are of the others' : ''}.`;
}

function typeText({ route, tailChance, boosted }: TypeOutcome): string {
  return `${(tailChance * 100).toFixed(2)} % ${route}${boosted ? ' (boosted)' : ''}`;
}

/** `1.20 ms [0.90 ms to 1.40 ms]`. */
export function gainText({ gainNs, gainIntervalNs }: Sensitivity): string {
  const signed = (ns: number): string => `${ns < 0 ? '−' : ''}${formatDuration(Math.abs(ns))}`;
  if (gainIntervalNs === null) {
    return signed(gainNs);
  }
  return `${signed(gainNs)} [${gainIntervalNs.map(signed).join(' to ')}]`;
}

/** What the figures rest on. */
export function methodLine(answer: WhatIf): string {
  const off = Object.values(answer.fidelity.off).map(Math.abs);
  const most = (Math.max(0, ...off) * 100).toFixed(2);
  const pool = answer.fidelity.poolThreads;
  return (
    `${countOf(answer.requests, 'request')} replayed; without a change at most ${most} % off the ` +
    `recorded percentiles${pool === null ? '' : `; a pool of ${countOf(pool, 'thread')}`}. ` +
    `Arrivals stay as recorded; the collector and caches do not adapt to a change.${
      answer.scenarios.some((one) => one.policy !== null)
        ? ' Energy is modelled; the recording counts as 2.6 GHz, a boost as 4.0 GHz.'
        : ''
    }`
  );
}
