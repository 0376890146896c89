/** What moved: latencies, by route, by cause, and what the tail waited for and behind. */
import { useState } from 'preact/hooks';
import {
  beyondTitle,
  causeName,
  moved,
  overall,
  tailChanges,
} from '../../../../bobtail/src/cli/diff/sentences';
import type { Change, RouteDiff } from '../../../../bobtail/src/cli/json/diff';
import { countOf, formatCount, formatPercentile } from '../../../../bobtail/src/cli/text/units';
import { percentileOf, routeOf } from '../../data/diff-page';
import { Recorded } from '../text';
import { type ChangeRow, ChangeTable } from './change-table';
import { useDiffLook } from './look';

const ROWS_FIRST = 10;

/** The mean and the percentiles of the route that is looked at. */
export function Latencies() {
  const { page, view } = useDiffLook();
  const { mean, percentiles } = routeOf(page, view);
  const rows: ChangeRow[] = [...percentiles].reverse().map(({ percentile, latency, note }) => ({
    key: String(percentile),
    name: formatPercentile(percentile),
    change: latency,
    note,
  }));
  return (
    <ChangeTable
      caption="Latency in both recordings"
      of="latency"
      rows={[{ key: 'mean', name: 'mean', change: mean }, ...rows]}
      measure="ratio"
    />
  );
}

/** Moved ones first, the largest change first; what cannot be told last. */
function ranked<T>(rows: readonly T[], changeOf: (row: T) => Change): T[] {
  const rank = (change: Change): number =>
    moved(change) ? 0 : change.verdict === 'within-noise' ? 1 : 2;
  const size = (change: Change): number => Math.abs(change.deltaNs ?? 0);
  return [...rows].sort((one, other) => {
    const [a, b] = [changeOf(one), changeOf(other)];
    return rank(a) - rank(b) || size(b) - size(a);
  });
}

/** A row for each route, at the percentile that is looked at; nothing where there is only one. */
export function Routes() {
  const { page, view } = useDiffLook();
  const [many, setMany] = useState(false);
  const { diff } = page;
  const single = diff.routes.filter((one) => one !== overall(diff));
  if (single.length < 2) return null;
  const changeOf = (route: RouteDiff): Change =>
    percentileOf(route, view.at)?.latency ?? route.mean;
  const all = ranked(single, changeOf);
  const shown = many ? all : all.slice(0, ROWS_FIRST);
  const counts = all.filter((route) => moved(changeOf(route))).length;
  return (
    <section aria-labelledby="routes">
      <h2 id="routes">
        Which routes moved at {formatPercentile(view.at)}: {formatCount(counts)} of{' '}
        {countOf(all.length, 'route')}
      </h2>
      <ChangeTable
        caption={`Latency of each route at ${formatPercentile(view.at)}`}
        of="route"
        rows={shown.map((route) => ({
          key: route.route,
          name: <RouteName route={route} />,
          change: changeOf(route),
          note: percentileOf(route, view.at)?.note ?? null,
        }))}
        measure="ratio"
      />
      <More all={all.length} noun="route" many={many} setMany={setMany} />
    </section>
  );
}

function RouteName({ route }: { route: RouteDiff }) {
  const { page, view, change } = useDiffLook();
  const index = page.diff.routes.indexOf(route);
  const counts = [route.aCount, route.bCount].map(formatCount);
  return (
    <>
      <button
        type="button"
        class="name"
        aria-pressed={view.route === index}
        onClick={() => change({ route: index === view.route ? 0 : index })}
      >
        <Recorded text={route.route} />
      </button>{' '}
      <span class="count">{counts.join(' → ')}</span>
    </>
  );
}

interface MoreProps {
  readonly all: number;
  readonly noun: string;
  readonly many: boolean;
  readonly setMany: (many: boolean) => void;
}

function More({ all, noun, many, setMany }: MoreProps) {
  return all <= ROWS_FIRST ? null : (
    <button type="button" onClick={() => setMany(!many)}>
      {many ? `fewer ${noun}s` : `all ${countOf(all, noun)}`}
    </button>
  );
}

/** Of what the slowest requests consist in each recording. */
export function Causes() {
  const { page, view } = useDiffLook();
  const route = routeOf(page, view);
  const one = percentileOf(route, view.at);
  if (one === undefined) return null;
  const title = beyondTitle(one);
  const rows = one.causes
    .filter(({ aNs, bNs }) => (aNs ?? 0) > 0 || (bNs ?? 0) > 0)
    .map(
      (cause): ChangeRow => ({ key: cause.cause, name: <CauseName {...cause} />, change: cause }),
    );
  return (
    <section aria-labelledby="causes">
      <h2 id="causes">{`T${title.slice(1)}`}</h2>
      {rows.length === 0 ? (
        <p class="none">Not enough samples: {one.note ?? 'no cause was measured in both'}.</p>
      ) : (
        <ChangeTable
          caption={`${title}: mean time per request by cause`}
          of="cause"
          rows={[{ key: 'latency', name: 'latency', change: one.beyond }, ...rows]}
          measure="time"
        />
      )}
      <p class="count">
        Mean time per request: io, queue, exec and unattributed sum up to the latency; the others
        are what the loop thread did during queue and exec.
      </p>
    </section>
  );
}

const KINDS = new Set(['io', 'queue', 'exec', 'unattributed']);

function CauseName({ cause }: { cause: string }) {
  return (
    <>
      {KINDS.has(cause) && <span class={`swatch ${cause}`} aria-hidden="true" />}
      {causeName(cause)}
    </>
  );
}

/** Culprits and resources of the tail of all routes. */
export function Tail() {
  const { diff } = useDiffLook().page;
  const [still, setStill] = useState(false);
  const [many, setMany] = useState(false);
  const all = ranked(tailChanges(diff), ({ change }) => change);
  const movers = all.filter(({ change }) => moved(change));
  const wanted = still ? all : movers;
  const shown = many ? wanted : wanted.slice(0, ROWS_FIRST);
  const { percentile, aCount, bCount } = diff.tail;
  const title = 'What the tail waited for and behind';
  return (
    <section aria-labelledby="tail">
      <h2 id="tail">{title}</h2>
      <div class="tools">
        <p class="count">
          Of all routes: mean time per request of each recording’s own tail, from{' '}
          {formatPercentile(percentile)} on; {formatCount(aCount)} requests of A,{' '}
          {formatCount(bCount)} of B.
        </p>
        <button type="button" aria-pressed={still} onClick={() => setStill(!still)}>
          also what did not move
        </button>
      </div>
      {wanted.length === 0 ? (
        <p class="none">Nothing moved beyond interval and noise.</p>
      ) : (
        <ChangeTable
          caption={title}
          of="culprit or resource"
          rows={shown.map(({ name, place, change }, index) => ({
            key: `${index} ${name} ${place}`,
            name: (
              <>
                <Recorded text={name} />{' '}
                <code class="place">
                  <Recorded text={place} />
                </code>
              </>
            ),
            change,
          }))}
          measure="time"
        />
      )}
      <More all={wanted.length} noun="row" many={many} setMany={setMany} />
    </section>
  );
}
