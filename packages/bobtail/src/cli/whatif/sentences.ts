/** What the answer of `whatif` says in words and figures, on the terminal and on its page alike. */
import type {
  Frontier,
  FrontierPoint,
  Outcome,
  PolicyOutcome,
  Predicted,
  Sensitivity,
  Shed,
  TypeOutcome,
  WhatIf,
} from '../json/what-if';
import { countOf, formatDuration, formatPercentile } from '../text/units';

const POLICY = 'policy=';
const RATE = /(^|,)\s*rate\s*=/;
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

/** `−31 % [−40 to −22]`: one whose interval holds 0 may be none. */
export function changeIntervalText({ change, changeInterval }: Predicted): string {
  if (changeInterval === null) {
    return changeText(change);
  }
  const bounds = boundsText(changeInterval, (one) => changeText(one).replace(' %', ''));
  return `${changeText(change)} ${bounds}`;
}

/** `[18.0 to 25.3]`: an interval, with each bound as `text` has it. */
export function boundsText(
  bounds: readonly [number, number],
  text: (bound: number) => string,
): string {
  return `[${bounds.map(text).join(' to ')}]`;
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

/** `[18.0 to 25.3]`: the interval of a reduction, where it can be told. */
export function reductionIntervalText({ reductionInterval }: FrontierPoint): string {
  return reductionInterval === null
    ? ''
    : boundsText(reductionInterval, (one) => reductionText(one).replace(' %', ''));
}

/** Those on the frontier by energy, then the others. */
export function frontierOrder({ points }: Frontier): FrontierPoint[] {
  const isBeaten = (one: FrontierPoint): number => (one.beatenBy === null ? 0 : 1);
  return [...points].sort((a, b) => isBeaten(a) - isBeaten(b) || a.energy - b.energy);
}

/** Levers by number: schemes are compared with those that have the same. */
export function leversOf(points: readonly FrontierPoint[]): number[] {
  return [...new Set(points.flatMap(({ lever }) => lever ?? []))];
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
      (one) => one.beatenBy === null && schemes.includes(one),
    );
    if (!best.some((one) => one.reduction > 0)) {
      return `No scheme makes ${tail} shorter.`;
    }
    const names = best.map((one) => schemeName(one.name)).join(', ');
    const beaten = `${schemes.length - best.length} of ${schemes.length}`;
    return `${tail} against energy: on the frontier ${names}; ${beaten} are not.`;
  }
  if (scenarios.length > 0 && scenarios.every(({ saturated }) => saturated !== null)) {
    const names = scenarios.map(({ name }) => name).join(', ');
    return `Too much load under ${names}: there is no ${tail}.`;
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

/** `34 %`; less than all of it never reads 100 %, which is too much. */
export function loopText({ loopUse }: Outcome): string {
  const percent = Math.round(loopUse * 100);
  return `${loopUse < 1 ? Math.min(99, percent) : percent} %`;
}

/** Percentiles that a scenario has not, though the load is not too much for it. */
export function untoldText(one: Outcome, answer: WhatIf): string | undefined {
  const untold = answer.percentiles.filter((each) => predictedOf(one, each) === undefined);
  if (one.saturated !== null || untold.length === 0) {
    return undefined;
  }
  const names = untold.map(formatPercentile).join(', ');
  return `too few are served for ${names}: ten requests have to lie beyond it.`;
}

/** What a policy aimed at and whether it came to that; which types it knew; whom it turned away. */
export function aimTexts({ policy, saturated, shed }: Outcome): string[] {
  const said: string[] = [];
  if (shed !== null) {
    said.push(shedText(shed, saturated === null));
  }
  const target = policy?.target ?? null;
  if (target !== null && target.reachedNs !== null) {
    const { percentile, latencyNs, reachedNs } = target;
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
  return `${signed(gainNs)} ${boundsText(gainIntervalNs, signed)}`;
}

/** `14 more are in --json`; nothing where all are shown. */
export function moreText(shown: number, { sensitivity }: WhatIf): string | undefined {
  const more = sensitivity.length - shown;
  return more > 0 ? `${more} more ${more === 1 ? 'is' : 'are'} in --json` : undefined;
}

/** How sure the figures are. */
export const INTERVALS =
  'Intervals are 95 %: how much a figure would differ had you recorded at another time. ' +
  'They say nothing of errors of the model.';

/** What the figures rest on. */
export function methodLine(answer: WhatIf): string {
  const off = Object.values(answer.fidelity.off).map(Math.abs);
  const most = (Math.max(0, ...off) * 100).toFixed(2);
  const pool = answer.fidelity.poolThreads;
  const isScaled = answer.scenarios.some(({ name }) => RATE.test(name));
  const scaled = isScaled ? ', under `rate` closer together or further apart' : '';
  const arrivals = `Arrivals come as recorded${scaled}`;
  return [
    `${countOf(answer.requests, 'request')} replayed; without a change at most ${most} % off the ` +
      `recorded percentiles${pool === null ? '' : `; a pool of ${countOf(pool, 'thread')}`}.`,
    `${arrivals}; the collector and caches do not adapt to a change.`,
    ...leverLines(answer),
  ].join(' ');
}

/** That of all, where they have the same; a name says what is not usual in it. */
function leverLines({ scenarios }: WhatIf): string[] {
  const policies = scenarios.flatMap(({ policy }) => (policy === null ? [] : [policy]));
  if (policies.length === 0) {
    return [];
  }
  const levers = new Set(policies.map(leverText));
  const looks = new Set(policies.flatMap((one) => looksText(one) ?? []));
  const [lever, look] = [[...levers][0], [...looks][0]];
  return [
    'Energy is modelled; the recording counts as 2.6 GHz, a boost as 4.0 GHz.',
    levers.size > 1 || looks.size > 1
      ? 'Levers differ: against energy, schemes are compared with those that have the same.'
      : `${lever}${look === undefined ? '' : `; ${look}`}.`,
  ];
}

function leverText({ latencyNs, domainLoops }: PolicyOutcome): string {
  return `The ${whoseText(domainLoops)} takes ${formatDuration(latencyNs)}`;
}

function whoseText(domainLoops: number | null): string {
  if (domainLoops === null) {
    return 'one lever of all loops';
  }
  return domainLoops === 1 ? 'lever of each loop' : `lever of every ${domainLoops} loops`;
}

/** Nothing of who knows more than a sensor tells. */
function looksText({ budget, lookNs }: PolicyOutcome): string | undefined {
  if (lookNs === null) {
    return undefined;
  }
  if (budget === null) {
    return 'looking costs nothing';
  }
  const percent = Number((budget * 100).toFixed(3));
  const each = `and each look ${formatDuration(lookNs)}`;
  return `looking may cost ${percent} % of the time that a loop works, ${each}`;
}
