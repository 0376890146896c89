/**
 * What is looked at: filters and a chosen request, kept in the address so that it can be shared.
 *
 * Only the fragment is used: it never leaves the browser, and works in a file opened from disk.
 */
import { type Page, processName } from './page';

/** Which requests are listed. */
export type Cohort = 'all' | 'tail' | 'rest';

/** The whole of it; positions in the lists of the page. */
export interface View {
  /** null: all. */
  readonly route: number | null;
  readonly process: number | null;
  /** Border of the bands at which the tail begins. */
  readonly border: number;
  readonly cohort: Cohort;
  /** Id of the request that is shown in full. */
  readonly request: string | null;
  /** Position of a segment of it. */
  readonly segment: number | null;
}

/** The report's own tail. */
export function ownBorder({ bands, report }: Page): number {
  const at = bands.findIndex(({ percentile }) => percentile === report.tail.percentile);
  return at < 0 ? bands.length - 1 : at;
}

/** Everything, and no request. */
export function wholeView(page: Page): View {
  return {
    route: null,
    process: null,
    border: ownBorder(page),
    cohort: 'all',
    request: null,
    segment: null,
  };
}

/** Whether the report's own figures are those of this view. */
export function isWhole(page: Page, { route, process, border }: View): boolean {
  return route === null && process === null && border === ownBorder(page);
}

/** What a fragment asks for; what is unknown in it is left out. */
export function viewOf(page: Page, fragment: string): View {
  const asked = new URLSearchParams(fragment.replace(/^#/, ''));
  const find = (all: readonly string[], name: string): number | null => {
    const at = all.indexOf(asked.get(name) ?? '\0');
    return at < 0 ? null : at;
  };
  const whole = wholeView(page);
  const percentiles = page.bands.map(({ percentile }) => String(percentile));
  const cohort = asked.get('cohort');
  const segment = Number.parseInt(asked.get('segment') ?? '', 10);
  return {
    route: find(page.routes, 'route'),
    process: find(page.processes.map(processName), 'process'),
    border: find(percentiles, 'tail') ?? whole.border,
    cohort: cohort === 'tail' || cohort === 'rest' ? cohort : 'all',
    request: asked.get('request'),
    segment: Number.isInteger(segment) && segment >= 0 ? segment : null,
  };
}

/** The fragment of a view, with what is not the default. */
export function fragmentOf(page: Page, view: View): string {
  const parts = new URLSearchParams();
  const tell = (name: string, value: string | undefined): void => {
    if (value !== undefined) parts.set(name, value);
  };
  const process = view.process === null ? undefined : page.processes[view.process];
  tell('request', view.request ?? undefined);
  tell('segment', view.segment === null ? undefined : String(view.segment));
  tell('route', view.route === null ? undefined : page.routes[view.route]);
  tell('process', process && processName(process));
  if (view.border !== ownBorder(page)) {
    tell('tail', String(page.bands[view.border]?.percentile));
  }
  tell('cohort', view.cohort === 'all' ? undefined : view.cohort);
  const text = parts.toString();
  return text === '' ? '' : `#${text}`;
}
