/** Predictions as text: scenarios side by side, tail against energy, and which 10 % buys most. */
import type { Outcome, WhatIf } from '../json/what-if';
import type { Look } from '../report/render-terminal';
import { plain } from '../text/plain';
import { alignRows, type Column, naturalWidth, wrapWords } from '../text/table';
import { formatDuration, formatPercentile } from '../text/units';
import {
  aimTexts,
  boundsText,
  changeIntervalText,
  frontierOrder,
  gainText,
  INTERVALS,
  loopText,
  methodLine,
  moreText,
  predictedOf,
  reductionIntervalText,
  reductionText,
  saturationText,
  schemeName,
  standing,
  untoldText,
} from './sentences';

const COMPONENTS_SHOWN = 8;

/** The whole answer. */
export function renderWhatIf(answer: WhatIf, look: Look): string {
  const frontier = frontierLines(answer, look);
  const sections = [scenarioLines(answer, look), frontier, sensitivityLines(answer, look)];
  const notes = [methodLine(answer), INTERVALS, ...answer.notes].flatMap((note) => {
    return wrapWords(plain(note), look.width, '  ').map((line) => look.colors.dim(line));
  });
  return [...sections, notes]
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n');
}

/** Side by side where there is room, else one below the other: names stay whole. */
function scenarioLines(answer: WhatIf, look: Look): string[] {
  const all = [answer.unchanged, ...answer.scenarios];
  const rows = [headOf(answer, look), ...all.map((one) => scenarioRow(one, answer))];
  const said = answer.scenarios.flatMap((one) => [
    ...saturation(one, look),
    ...aims(one, answer, look),
  ]);
  if (naturalWidth(rows) > look.width) {
    return [look.colors.bold('what if'), ...all.flatMap((one) => stacked(one, answer)), ...said];
  }
  const columns = rows[0]?.map((_, index): Column => ({ align: alignOf(index, answer) })) ?? [];
  return [...alignRows(columns, rows, look.width), ...said];
}

/** Names and changes to the left, figures to the right. */
function alignOf(index: number, { percentiles }: WhatIf): 'left' | 'right' {
  return index <= 2 * percentiles.length && index % 2 === 0 ? 'left' : 'right';
}

const isDriven = ({ scenarios }: WhatIf): boolean =>
  scenarios.some(({ policy }) => policy !== null);

function headOf(answer: WhatIf, { colors }: Look): string[] {
  const figures = answer.percentiles.flatMap((one) => [formatPercentile(one), '']);
  const driven = isDriven(answer) ? ['modelled energy', 'boosted'] : [];
  return [colors.bold('what if'), ...[...figures, 'loop', ...driven].map(colors.dim)];
}

function scenarioRow(one: Outcome, answer: WhatIf): string[] {
  const cells = answer.percentiles.flatMap((percentile) => figureOf(one, percentile, answer));
  const driven = isDriven(answer) ? policyCells(one) : [];
  return [`  ${plain(one.name)}`, ...cells, loopText(one), ...driven];
}

/** A percentile, and its interval or how much it changes. */
function figureOf(one: Outcome, percentile: number, answer: WhatIf): [string, string] {
  const told = predictedOf(one, percentile);
  if (told === undefined) {
    return [one.saturated === null ? '–' : 'saturated', ''];
  }
  if (one !== answer.unchanged) {
    return [formatDuration(told.latencyNs), changeIntervalText(told)];
  }
  const bounds = told.intervalNs === null ? '' : boundsText(told.intervalNs, formatDuration);
  return [formatDuration(told.latencyNs), bounds];
}

function stacked(one: Outcome, answer: WhatIf): string[] {
  const [energy = '', boosted = ''] = policyCells(one);
  const facts = [
    `loop ${loopText(one)}`,
    ...(energy === '' ? [] : [`modelled energy ${energy}`, `boosted ${boosted}`]),
  ];
  const figures = answer.percentiles.map((percentile) => {
    const [figure, change] = figureOf(one, percentile, answer);
    return [`    ${formatPercentile(percentile)}`, figure, change];
  });
  const columns: Column[] = [{ align: 'left' }, { align: 'right' }, { align: 'left' }];
  const lines = alignRows(columns, figures, Number.POSITIVE_INFINITY);
  return [`  ${plain(one.name)}`, ...lines, `    ${facts.join(', ')}`];
}

/** Energy by the same time at base speed, and the share of the time that was boosted. */
function policyCells({ policy }: Outcome): string[] {
  return policy === null
    ? ['', '']
    : [`${policy.energy.toFixed(3)}×`, `${(policy.boostedShare * 100).toFixed(1)} %`];
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
    `${one.energy.toFixed(3)}×`,
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
function aims(one: Outcome, answer: WhatIf, look: Look): string[] {
  const all = [untoldText(one, answer) ?? [], aimTexts(one)].flat();
  const said = all.flatMap((text) => {
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
  const more = moreText(COMPONENTS_SHOWN, answer);
  const columns: Column[] = [{ align: 'left', grow: true }, { align: 'right' }, { align: 'right' }];
  return [
    ...alignRows(columns, [header, ...rows], look.width),
    ...(more === undefined ? [] : [dim(`  ${more}`)]),
  ];
}
