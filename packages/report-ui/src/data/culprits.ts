/** Who made the tail of a view wait, and whom: culprits with their victims by route. */
import type { Blame, CulpritName, Page } from './page';
import { isWhole, ownBorder, type View } from './view';

/** What a culprit did to the tail of the view. */
export interface CulpritRow extends CulpritName {
  /** Place in the page's list. */
  readonly index: number;
  readonly inflictedNs: number;
  readonly victims: number;
  readonly occurrences: number;
  readonly longestNs: number;
  /** By route, the most first. */
  readonly routes: readonly { readonly route: number; readonly inflictedNs: number }[];
}

function added(rows: readonly Blame[]): Omit<Blame, 'process' | 'route' | 'culprit'> {
  return rows.reduce(
    (sum, row) => ({
      inflictedNs: sum.inflictedNs + row.inflictedNs,
      victims: sum.victims + row.victims,
      occurrences: sum.occurrences + row.occurrences,
      longestNs: Math.max(sum.longestNs, row.longestNs),
    }),
    { inflictedNs: 0, victims: 0, occurrences: 0, longestNs: 0 },
  );
}

/** Culprits of the report's own tail, as filtered by route and process, the costliest first. */
export function culpritsOf(page: Page, view: View): CulpritRow[] {
  const rows = page.blame.filter(
    ({ process }) => view.process === null || process === view.process,
  );
  const whole = isWhole(page, { ...view, border: ownBorder(page) });
  const culprits = page.culprits.map((name, index): CulpritRow => {
    const own = rows.filter(({ culprit }) => culprit === index);
    const byRoute = own.filter(({ route }) => route !== null);
    const routes = [...new Set(byRoute.map(({ route }) => route as number))]
      .filter((route) => view.route === null || view.route === route)
      .map((route) => ({
        route,
        inflictedNs: added(byRoute.filter((row) => row.route === route)).inflictedNs,
      }))
      .sort((a, b) => b.inflictedNs - a.inflictedNs || a.route - b.route);
    // The list of the report is in the same order, and knows what bounds have cut off here.
    const told = whole ? page.report.culprits[index] : undefined;
    const sums = told ?? added(own.filter(({ route }) => route === view.route));
    const { inflictedNs, victims, occurrences, longestNs } = sums;
    return { ...name, index, inflictedNs, victims, occurrences, longestNs, routes };
  });
  return culprits
    .filter(({ inflictedNs }) => inflictedNs > 0)
    .sort((a, b) => b.inflictedNs - a.inflictedNs || a.index - b.index);
}

/** Requests of the report's own tail in a view. */
export function tailCount(page: Page, view: View): number {
  const own = ownBorder(page);
  return page.cells
    .filter(
      ({ band, process, route }) =>
        band > own &&
        (view.process === null || process === view.process) &&
        (view.route === null || route === view.route),
    )
    .reduce((sum, { count }) => sum + count, 0);
}
