/** Culprits and their victims, what the tail waited for, and what to do about it. */
import { useState } from 'preact/hooks';
import type { Finding } from '../../../bobtail/src/cli/json/report';
import {
  advice,
  culpritCounts,
  culpritName,
  culpritPlace,
  impactOf,
  ioParts,
  OVERLAP,
} from '../../../bobtail/src/cli/report/sentences';
import { countOf, formatDuration, formatShare } from '../../../bobtail/src/cli/text/units';
import { type CulpritRow, culpritsOf, tailCount } from '../data/culprits';
import { cellsOf, split } from '../data/sums';
import { ownBorder } from '../data/view';
import { waitsOf } from '../data/waits';
import { Bar } from './bars';
import { useLook } from './context';
import { Generated, Recorded } from './text';

const ROWS_FIRST = 8;
const VICTIMS_SHOWN = 4;

/** Class of the bar of a culprit. */
function barOf({ kind }: CulpritRow): string {
  const bars = { gc: 'work-gc', event: 'queue', job: 'io', loop: 'work-loop', cpu: 'work-loop' };
  return bars[kind];
}

/** Who made whom wait. */
export function Culprits() {
  const { page, view } = useLook();
  const [many, setMany] = useState(false);
  const all = culpritsOf(page, view);
  const count = tailCount(page, view);
  const first = rowsFirst(all);
  const shown = many ? all : all.slice(0, first);
  const longest = shown[0]?.inflictedNs ?? 0;
  const { percentile } = page.report.tail;
  return (
    <section aria-labelledby="culprits">
      <h2 id="culprits">Who made the tail wait</h2>
      {view.border !== ownBorder(page) && (
        <p class="note">Told for the tail of the report, from p{percentile} on.</p>
      )}
      {all.length === 0 ? (
        <p class="none">Nobody: no request of the tail is shown, or none waited in the queue.</p>
      ) : (
        <table class="culprits">
          <caption>
            All times are means over the {countOf(count, 'request')} of the tail: what a culprit
            cost, and what of it each route of its victims paid.
          </caption>
          <thead>
            <tr>
              <th scope="col">culprit</th>
              <th scope="col">cost per tail request</th>
              <th scope="col">how often, in all</th>
              <th scope="col">paid by, per tail request</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <CulpritLine key={row.index} row={row} count={count} longest={longest} />
            ))}
          </tbody>
        </table>
      )}
      {all.length > first && (
        <button type="button" onClick={() => setMany(!many)}>
          {many ? 'fewer culprits' : `all ${all.length} culprits`}
        </button>
      )}
    </section>
  );
}

/** How many rows say something: those below one percent of all would bury the others. */
function rowsFirst(all: readonly CulpritRow[]): number {
  const wholeNs = all.reduce((sum, { inflictedNs }) => sum + inflictedNs, 0);
  const telling = all.filter(({ inflictedNs }) => inflictedNs >= wholeNs / 100).length;
  return Math.min(ROWS_FIRST, telling);
}

function CulpritLine(props: { row: CulpritRow; count: number; longest: number }) {
  const { row, count, longest } = props;
  const place = culpritPlace(row);
  return (
    <tr>
      <th scope="row">
        <Recorded text={culpritName(row)} />
        {row.kind === 'event' && <span class="count"> {row.type}</span>}
        {row.kind === 'job' && <span class="count"> in the pool</span>}
        {place !== '' && (
          <code class="place">
            <Recorded text={place} />
            <Generated location={row.generatedLocation} />
          </code>
        )}
      </th>
      <td class="with-bar">
        <Bar share={longest === 0 ? 0 : row.inflictedNs / longest} kind={barOf(row)} />
        <span class="figure">{formatDuration(row.inflictedNs / Math.max(1, count))}</span>
      </td>
      <td class="count">{culpritCounts(row)}</td>
      <td>
        <CulpritVictims row={row} count={count} />
      </td>
    </tr>
  );
}

/** The routes that paid, in the unit of the row's cost, to which they sum. */
function CulpritVictims({ row, count }: { row: CulpritRow; count: number }) {
  const { page, change } = useLook();
  const { routes } = row;
  const named = routes.slice(0, VICTIMS_SHOWN);
  const restNs = named.reduce((left, { inflictedNs }) => left - inflictedNs, row.inflictedNs);
  const more = routes.length - named.length;
  const figures = (ns: number) => (
    <>
      <span class="figure">{formatDuration(ns / Math.max(1, count))}</span>{' '}
      <span class="count">{formatShare(ns, row.inflictedNs)}</span>
    </>
  );
  return (
    <ul class="victims">
      {named.map(({ route, inflictedNs }) => (
        <li key={route}>
          <button type="button" class="name" onClick={() => change({ route })}>
            <Recorded text={page.routes[route] ?? ''} />
          </button>{' '}
          {figures(inflictedNs)}
        </li>
      ))}
      {restNs > 0 && (
        <li>
          <span class="count">{more > 0 ? countOf(more, 'more route') : 'other routes'}</span>{' '}
          {figures(restNs)}
        </li>
      )}
    </ul>
  );
}

/** I/O by resource. */
export function Waits() {
  const { page, view } = useLook();
  const shares = waitsOf(page, view).slice(0, ROWS_FIRST);
  const latencyNs = split(page, cellsOf(page, view), view).tail?.latencyNs ?? 0;
  if (shares.length === 0) return null;
  return (
    <section aria-labelledby="waits">
      <h2 id="waits">What the tail waited for</h2>
      <table class="waits">
        <caption class="hidden">I/O of the tail by resource, mean per request</caption>
        <thead>
          <tr>
            <th scope="col">resource</th>
            <th scope="col">per tail request</th>
            <th scope="col">of it</th>
          </tr>
        </thead>
        <tbody>
          {shares.map((share) => (
            <tr key={`${share.resource} ${share.kind}`}>
              <th scope="row">
                <Recorded text={share.resource} /> <span class="count">{share.kind}</span>
              </th>
              <td class="with-bar">
                <Bar share={share.ioNs / (shares[0]?.ioNs ?? 1)} kind="io" />
                <span class="figure">{formatDuration(share.ioNs)}</span>{' '}
                <span class="count">{formatShare(share.ioNs, latencyNs)}</span>
              </td>
              <td class="count">
                {[countOf(share.requests, 'request'), ioParts(share)]
                  .filter((part) => part !== '')
                  .join(', ')}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** What to change, the most useful first; that for a chosen route before that for all. */
export function Advice() {
  const { page, view } = useLook();
  const all = advice(page.report);
  const own = view.route === null ? all : (page.advice.get(view.route) ?? []);
  const others = all.filter((one) => !own.some(({ action }) => action === one.action));
  const isOwnTail = view.process === null && view.border === ownBorder(page);
  if (all.length === 0 && own.length === 0) return null;
  const name = view.route === null ? null : (page.routes[view.route] ?? '');
  return (
    <section aria-labelledby="advice">
      <h2 id="advice">What to do</h2>
      <p class="count">Mind that {OVERLAP}.</p>
      {!isOwnTail && <p class="note">For all processes, and the report's own tail.</p>}
      {name !== null && (
        <h3>
          For <Recorded text={name} />
        </h3>
      )}
      {own.length === 0 && name !== null && (
        <p class="none">
          None: little of the tail is of this route, or it stands for many routes together.
        </p>
      )}
      <Findings findings={own} />
      {name !== null && others.length > 0 && (
        <>
          <h3>For other routes, and for the recording as a whole</h3>
          <Findings findings={others} isOfOthers />
        </>
      )}
    </section>
  );
}

function Findings(props: { findings: readonly Finding[]; isOfOthers?: boolean }) {
  const { findings, isOfOthers = false } = props;
  if (findings.length === 0) return null;
  return (
    <ol class={isOfOthers ? 'advice others' : 'advice'}>
      {findings.map((finding) => (
        <li key={finding.code + finding.action}>
          <b>
            <Recorded text={finding.action} />
          </b>
          <p class="count">
            <Recorded text={finding.sentence} />
            {impactOf(finding)}
          </p>
        </li>
      ))}
    </ol>
  );
}
