/** Predictions as text: scenarios side by side, tail against energy, and which 10 % buys most. */
import type { Outcome, WhatIf } from '../json/what-if';
import type { Look } from '../report/render-terminal';
import { plain } from '../text/plain';
import { alignRows, type Column, wrapWords } from '../text/table';
import { formatDuration, formatInterval, formatPercentile } from '../text/units';
import {
  aimTexts,
  changeText,
  frontierOrder,
  gainText,
  methodLine,
  predictedOf,
  reductionIntervalText,
  reductionText,
  saturationText,
  schemeName,
  standing,
} from './sentences';

const COMPONENTS_SHOWN = 8;

/** The whole answer. */
export function renderWhatIf(answer: WhatIf, look: Look): string {
  const frontier = frontierLines(answer, look);
  const sections = [scenarioLines(answer, look), frontier, sensitivityLines(answer, look)];
  const notes = [methodLine(answer), ...answer.notes].flatMap((note) => {
    return wrapWords(plain(note), look.width, '  ').map((line) => look.colors.dim(line));
  });
  return [...sections, notes]
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n');
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
    const told = predictedOf(one, percentile);
    if (told === undefined) {
      return [one.saturated === null ? '–' : 'saturated', ''];
    }
    const interval = told.intervalNs ?? undefined;
    return [
      formatInterval(told.latencyNs, interval),
      one === answer.unchanged ? '' : changeText(told.change),
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

function saturation(one: Outcome, look: Look): string[] {
  const why = saturationText(one);
  if (why === undefined) {
    return [];
  }
  const lines = wrapWords(`${plain(one.name)}: ${why}`, look.width, '  ');
  return lines.map((line) => look.colors.yellow(line));
}

/** Tail against energy: who is beaten by whom; of a single scheme there is nothing to say. */
function frontierLines({ frontier }: WhatIf, look: Look): string[] {
  const { bold, dim } = look.colors;
  if (frontier === null || frontier.points.length < 3) {
    return [];
  }
  const tail = formatPercentile(frontier.percentile);
  const title = bold(`${tail} against energy`);
  const header = [title, ...[`${tail} less`, '', 'energy', ''].map(dim)];
  const rows = frontierOrder(frontier).map((one) => [
    `${one.beatenBy === null ? '●' : ' '} ${plain(schemeName(one.name))}`,
    reductionText(one.reduction),
    dim(reductionIntervalText(one)),
    one.energy.toFixed(3),
    plain(standing(one)),
  ]);
  const columns: Column[] = [
    { align: 'left', grow: true },
    { align: 'right' },
    { align: 'left' },
    { align: 'right' },
    { align: 'left', grow: true },
  ];
  return alignRows(columns, [header, ...rows], look.width);
}

/** What a policy aimed at, and whether it came to that. */
function aims(one: Outcome, look: Look): string[] {
  const said = aimTexts(one).flatMap((text) => {
    return wrapWords(`${plain(one.name)}: ${plain(text)}`, look.width, '  ');
  });
  return said.map((line) => look.colors.dim(line));
}

function sensitivityLines(answer: WhatIf, look: Look): string[] {
  const { bold, dim } = look.colors;
  const tail = formatPercentile(answer.percentiles[0] ?? 0);
  const header = [bold(`which 10 % buys most of ${tail}`), dim('gain'), dim('of')];
  const rows = answer.sensitivity.slice(0, COMPONENTS_SHOWN).map((one) => {
    return [`  ${plain(one.component)}`, gainText(one), formatDuration(one.totalNs)];
  });
  const columns: Column[] = [{ align: 'left', grow: true }, { align: 'right' }, { align: 'right' }];
  return alignRows(columns, [header, ...rows], look.width);
}
