/** What the tail of a view waited for: the rows of the report, for any part of it. */
import type { IoShare } from '../../../bobtail/src/cli/json/report';
import { tailIo, withConnectionQueues } from '../../../bobtail/src/cli/report/sentences';
import type { Page, Wait } from './page';
import { cellsOf, classOf } from './sums';
import { isWhole, type View } from './view';

const ADDED = ['requests', 'ioNs', 'poolWaitNs', 'poolRunNs', 'sharedNs'] as const;

/** Means per request of the tail of a view, the longest first. */
export function waitsOf(page: Page, view: View): IoShare[] {
  // The list of the report is the same, and knows what bounds have cut off here.
  if (isWhole(page, view)) return tailIo(page.report);
  const tail = cellsOf(page, view).filter(({ band }) => classOf(band, view) === 'tail');
  const count = tail.reduce((sum, cell) => sum + cell.count, 0);
  const sums = new Map<string, Wait>();
  for (const wait of page.waits) {
    const { process, route, band, resource, kind } = wait;
    if (view.process !== null && view.process !== process) continue;
    if (view.route !== null && view.route !== route) continue;
    if (classOf(band, view) !== 'tail') continue;
    const key = `${kind}\0${resource}`;
    const known = sums.get(key);
    sums.set(key, known === undefined ? wait : added(known, wait));
  }
  const own = new Set(
    page.report.io.filter(({ ownService }) => ownService).map(({ resource }) => resource),
  );
  const mean = (ns: number): number => Math.floor(ns / Math.max(1, count));
  const rows = [...sums.values()].map(
    ({ resource, kind, requests, ioNs, poolWaitNs, poolRunNs, sharedNs }) => ({
      class: 'tail' as const,
      resource,
      ownService: own.has(resource),
      kind,
      requests,
      ioNs: mean(ioNs),
      poolWaitNs: mean(poolWaitNs),
      poolRunNs: mean(poolRunNs),
      sharedNs: mean(sharedNs),
    }),
  );
  return withConnectionQueues(rows);
}

function added(one: Wait, other: Wait): Wait {
  const sums = ADDED.map((name) => [name, one[name] + other[name]]);
  return { ...one, ...Object.fromEntries(sums) };
}
