/** Predictions as text: scenarios side by side, then which 10 % would buy most tail. */
import type { Outcome, Predicted, Sensitivity, TypeOutcome, WhatIf } from '../json/what-if';
import type { Look } from '../report/render-terminal';
import { plain } from '../text/plain';
import { alignRows, type Column, wrapWords } from '../text/table';
import { countOf, formatDuration, formatInterval, formatPercentile } from '../text/units';

const COMPONENTS_SHOWN = 8;
const TYPES_SHOWN = 4;

/** The whole answer. */
export function renderWhatIf(answer: WhatIf, look: Look): string {
  const sections = [scenarioLines(answer, look), sensitivityLines(answer, look)];
  const notes = [methodLine(answer), ...answer.notes].flatMap((note) => {
    return wrapWords(plain(note), look.width, '  ').map((line) => look.colors.dim(line));
  });
  return [...sections, notes].map((lines) => lines.join('\n')).join('\n\n');
}

function scenarioLines(answer: WhatIf, look: Look): string[] {
  const { bold, dim } = look.colors;
  const titles = answer.percentiles.map(formatPercentile);
  const driven = answer.scenarios.some((one) => one.policy !== null) ? ['energy', 'boosted'] : [];
  const header = [bold('what if'), ...titles.flatMap((one) => [one, '']), 'loop', ...driven].map(
    (cell, i) => (i === 0 ? cell : dim(cell)),
  );
  const rows = [answer.unchanged, ...answer.scenarios].map((one) => {
    return [...scenarioRow(one, answer), ...(driven.length > 0 ? policyCells(one) : [])];
  });
  const figures = answer.percentiles.flatMap((): Column[] => [
    { align: 'right' },
    { align: 'right' },
  ]);
  const rights = ['loop', ...driven].map((): Column => ({ align: 'right' }));
  const columns: Column[] = [{ align: 'left', grow: true }, ...figures, ...rights];
  const said = answer.scenarios.flatMap((one) => [...saturation(one, look), ...aims(one, look)]);
  return [...alignRows(columns, [header, ...rows], look.width), ...said];
}

function scenarioRow(one: Outcome, answer: WhatIf): string[] {
  const cells = answer.percentiles.flatMap((percentile) => {
    const told = one.percentiles.find((each) => each.percentile === percentile);
    if (told === undefined) {
      return ['saturated', ''];
    }
    const interval = told.intervalNs ?? undefined;
    return [
      formatInterval(told.latencyNs, interval),
      one === answer.unchanged ? '' : changeOf(told),
    ];
  });
  return [`  ${plain(one.name)}`, ...cells, `${Math.round(one.loopUse * 100)} %`];
}

/** Energy by the same time at base speed, and the share of the time that was boosted. */
function policyCells({ policy }: Outcome): string[] {
  return policy === null
    ? ['', '']
    : [policy.energy.toFixed(3), `${(policy.boostedShare * 100).toFixed(1)} %`];
}

/** `−31 %`; no change and no sure one look alike. */
function changeOf({ change }: Predicted): string {
  const percent = change * 100;
  if (Math.abs(percent) < 0.05) {
    return '±0 %';
  }
  const digits = Math.abs(percent) < 9.95 ? 1 : 0;
  return `${percent < 0 ? '−' : '+'}${Math.abs(percent).toFixed(digits)} %`;
}

function saturation(one: Outcome, look: Look): string[] {
  if (one.saturated === null) {
    return [];
  }
  const use = one.saturated === 'loop' ? one.loopUse : one.poolUse;
  const what = one.saturated === 'loop' ? 'the event loop' : 'the thread pool';
  const text =
    `${plain(one.name)}: ${what} would have ${use.toFixed(2)} times as much work as time. ` +
    'Latency grows for as long as the load lasts, so it has no percentile.';
  return wrapWords(text, look.width, '  ').map((line) => look.colors.yellow(line));
}

/** What a policy aimed at, and whether it came to that. */
function aims({ name, policy, saturated }: Outcome, look: Look): string[] {
  const said: string[] = [];
  if (policy?.target && saturated === null) {
    const { percentile, latencyNs, reachedNs } = policy.target;
    const wanted = `${formatPercentile(percentile)} shall be ${formatDuration(latencyNs)}`;
    const missed = reachedNs > latencyNs ? 'missed' : 'met';
    said.push(`${plain(name)}: ${wanted}, is ${formatDuration(reachedNs)}: ${missed}.`);
  }
  if (policy?.types) {
    const shown = policy.types.slice(0, TYPES_SHOWN).map(typeOf).join(', ');
    const more = policy.types.length - TYPES_SHOWN;
    const rest = more > 0 ? `, and ${countOf(more, 'route')} less likely` : '';
    said.push(`${plain(name)}: in the tail with a probability of ${shown}${rest}.`);
  }
  const dim = (line: string): string => look.colors.dim(line);
  return said.flatMap((text) => wrapWords(text, look.width, '  ').map(dim));
}

function typeOf({ route, tailChance, boosted }: TypeOutcome): string {
  return `${(tailChance * 100).toFixed(2)} % ${plain(route)}${boosted ? ' (boosted)' : ''}`;
}

function sensitivityLines(answer: WhatIf, look: Look): string[] {
  const { bold, dim } = look.colors;
  const tail = formatPercentile(answer.percentiles[0] ?? 0);
  const header = [bold(`which 10 % buys most of ${tail}`), dim('gain'), dim('of')];
  const rows = answer.sensitivity.slice(0, COMPONENTS_SHOWN).map((one) => {
    return [`  ${plain(one.component)}`, gainOf(one), formatDuration(one.totalNs)];
  });
  const columns: Column[] = [{ align: 'left', grow: true }, { align: 'right' }, { align: 'right' }];
  return alignRows(columns, [header, ...rows], look.width);
}

function gainOf({ gainNs, gainIntervalNs }: Sensitivity): string {
  const signed = (ns: number): string => `${ns < 0 ? '−' : ''}${formatDuration(Math.abs(ns))}`;
  if (gainIntervalNs === null) {
    return signed(gainNs);
  }
  return `${signed(gainNs)} [${gainIntervalNs.map(signed).join(' to ')}]`;
}

function methodLine(answer: WhatIf): string {
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
