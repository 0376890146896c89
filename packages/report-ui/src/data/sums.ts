/**
 * Where requests of a view spent their time: the rows of the report, for any part of it.
 *
 * The same arithmetic as in the analysis (means rounded down, the rest to the largest part), so
 * that the whole view shows the report's own figures to the digit.
 */
import type { RequestClass, TimeSpent, Work } from '../../../bobtail/src/cli/json/report';
import type { Cell, Page } from './page';
import type { View } from './view';

const ADDED = [
  'count',
  'latencyNs',
  'ioNs',
  'queueNs',
  'execNs',
  'unattributedNs',
  'gcNs',
  'jitNs',
  'icNs',
  'loopNs',
  'notRunningNs',
] as const;

type Sums = { [name in (typeof ADDED)[number]]: number };

/** The cells of a view. */
export function cellsOf(page: Page, view: View): Cell[] {
  return page.cells.filter(
    ({ process, route }) =>
      (view.process === null || view.process === process) &&
      (view.route === null || view.route === route),
  );
}

/** Tail or rest, as the view has it. */
export function classOf(band: number, view: View): RequestClass {
  return band > view.border ? 'tail' : 'nontail';
}

/** Means per request; undefined of no requests. */
export function spentBy(page: Page, cells: readonly Cell[], cls: RequestClass) {
  const sums = Object.fromEntries(ADDED.map((name) => [name, 0])) as Sums;
  const processes = new Set<number>();
  for (const cell of cells) {
    for (const name of ADDED) sums[name] += cell[name];
    processes.add(cell.process);
  }
  return sums.count === 0 ? undefined : means(page, sums, processes, cls);
}

function means(
  page: Page,
  sums: Sums,
  processes: ReadonlySet<number>,
  cls: RequestClass,
): TimeSpent {
  const mean = (ns: number): number => Math.floor(ns / sums.count);
  const latencyNs = mean(sums.latencyNs);
  const parts = [sums.ioNs, sums.queueNs, sums.execNs, sums.unattributedNs].map(mean);
  const rest = latencyNs - parts.reduce((sum, one) => sum + one, 0);
  // Of equal parts the last is meant, as in the analysis.
  const largest = parts.lastIndexOf(Math.max(...parts));
  parts[largest] = (parts[largest] ?? 0) + rest;
  const [ioNs = 0, queueNs = 0, execNs = 0, unattributedNs = 0] = parts;
  const has = (name: 'gc' | 'jit' | 'ic' | 'notRunning'): boolean =>
    [...processes].every((index) => page.processes[index]?.[name] === true);
  const told = (measured: boolean, ns: number): number | null => (measured ? mean(ns) : null);
  const work = {
    gcNs: told(has('gc'), sums.gcNs),
    jitNs: told(has('jit'), sums.jitNs),
    icNs: told(has('ic'), sums.icNs),
    loopNs: mean(sums.loopNs),
    notRunningNs: told(has('notRunning'), sums.notRunningNs),
  };
  const known = Object.values(work).reduce<number>((sum, ns) => sum + (ns ?? 0), 0);
  const all: Work = { nativeNs: Math.max(0, queueNs + execNs - known), ...work };
  return {
    class: cls,
    count: sums.count,
    latencyNs,
    ioNs,
    queueNs,
    execNs,
    unattributedNs,
    work: all,
  };
}

/** Tail and rest of a view. */
export interface Split {
  readonly tail: TimeSpent | undefined;
  readonly rest: TimeSpent | undefined;
}

/** Parts the cells at the border of the view. */
export function split(page: Page, cells: readonly Cell[], view: View): Split {
  const of = (cls: RequestClass): Cell[] => cells.filter(({ band }) => classOf(band, view) === cls);
  return {
    tail: spentBy(page, of('tail'), 'tail'),
    rest: spentBy(page, of('nontail'), 'nontail'),
  };
}

/** A row for each group with requests in the tail or the rest, the costliest in the tail first. */
export function splitBy(
  page: Page,
  view: View,
  group: 'route' | 'process',
): { readonly index: number; readonly split: Split }[] {
  const cells = cellsOf(page, view);
  const indexes = [...new Set(cells.map((cell) => cell[group]))];
  const rows = indexes.map((index) => ({
    index,
    split: split(
      page,
      cells.filter((cell) => cell[group] === index),
      view,
    ),
  }));
  const cost = ({ tail, rest }: Split): [number, number] => [
    (tail?.count ?? 0) * (tail?.latencyNs ?? 0),
    (rest?.count ?? 0) * (rest?.latencyNs ?? 0),
  ];
  return rows.sort((a, b) => {
    const [[tailA, restA], [tailB, restB]] = [cost(a.split), cost(b.split)];
    return tailB - tailA || restB - restA || a.index - b.index;
  });
}
