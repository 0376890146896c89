/**
 * What the page of a difference is given (`spec/diff-html.schema.json`), and what is looked at.
 */
import { overall, shownPercentile } from '../../../bobtail/src/cli/diff/sentences';
import type { Diff, PercentileDiff, RouteDiff } from '../../../bobtail/src/cli/json/diff';
import { type Distribution, distributionOfSteps } from './distribution';
import type { Meta } from './page';

/** Which recording. */
export type SideName = 'a' | 'b';

/** Steps from bucket to bucket and counts, alternating. */
type Steps = readonly number[];

/** The file's content. */
interface DiffPageJson {
  readonly schema: 'bobtail-diff-html/1';
  readonly diff: Diff;
  readonly curves: readonly { readonly a: Steps; readonly b: Steps }[];
}

/** The latencies of a route in both. */
export type Distributions = Readonly<Record<SideName, Distribution>>;

/** The same, ready to be drawn. */
export interface DiffPage {
  readonly meta: Meta;
  readonly diff: Diff;
  /** One for each route, in their order. */
  readonly curves: readonly Distributions[];
}

/** Reads the data in the file. */
export function openDiffPage(text: string): DiffPage {
  const { meta, page } = JSON.parse(text) as { meta: Meta; page: DiffPageJson };
  const curves = page.curves.map(({ a, b }) => ({
    a: distributionOfSteps([a]),
    b: distributionOfSteps([b]),
  }));
  return { meta, diff: page.diff, curves };
}

/** What is looked at. */
export interface DiffView {
  /** Place among the routes of the difference, of which the first is all. */
  readonly route: number;
  /** The percentile whose routes and causes are shown. */
  readonly at: number;
}

/** The highest percentile that can be told, else the lowest there is. */
export function wholeDiffView({ diff }: DiffPage): DiffView {
  const all = overall(diff);
  const at = shownPercentile(all) ?? all.percentiles.at(-1);
  return { route: diff.routes.indexOf(all), at: at?.percentile ?? 50 };
}

/** What a fragment asks for; what is unknown in it is left out. */
export function diffViewOf(page: DiffPage, fragment: string): DiffView {
  const asked = new URLSearchParams(fragment.replace(/^#/, ''));
  const whole = wholeDiffView(page);
  const route = page.diff.routes.findIndex((one) => one.route === asked.get('route'));
  const known = overall(page.diff).percentiles.map(({ percentile }) => percentile);
  const at = known.find((percentile) => String(percentile) === asked.get('at'));
  return { route: route < 0 ? whole.route : route, at: at ?? whole.at };
}

/** The fragment of a view, with what is not the default. */
export function diffFragmentOf(page: DiffPage, view: DiffView): string {
  const whole = wholeDiffView(page);
  const parts = new URLSearchParams();
  const route = page.diff.routes[view.route];
  if (view.route !== whole.route && route !== undefined) parts.set('route', route.route);
  if (view.at !== whole.at) parts.set('at', String(view.at));
  const text = parts.toString();
  return text === '' ? '' : `#${text}`;
}

/** The route that is looked at. */
export function routeOf({ diff }: DiffPage, view: DiffView): RouteDiff {
  return diff.routes[view.route] ?? overall(diff);
}

/** A percentile of a route. */
export function percentileOf(route: RouteDiff, at: number): PercentileDiff | undefined {
  return route.percentiles.find(({ percentile }) => percentile === at);
}
