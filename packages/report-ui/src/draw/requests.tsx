/** The requests that are in the file in full: a list to choose from, and the chosen one. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { countOf, formatDuration, formatShare } from '../../../bobtail/src/cli/text/units';
import { type Brief, briefOf, isRequestId, kindSums, requestOf } from '../data/request';
import { type Cohort, fragmentOf } from '../data/view';
import { KINDS } from './bars';
import { useLook } from './context';
import { RequestView } from './request-view';
import { beginning, Recorded } from './text';

const ROWS_FIRST = 12;
const ID_SHOWN = 40;
const COHORTS: readonly (readonly [Cohort, string])[] = [
  ['all', 'all'],
  ['tail', 'tail'],
  ['rest', 'rest'],
];

type Listed = Brief & { readonly sums: Record<string, number> };

/** The list of a view, slowest first. */
function useListed(): Listed[] {
  const { page, view } = useLook();
  const { route, process, border, cohort } = view;
  return useMemo(() => {
    const fromNs = page.bands[border]?.fromNs ?? 0;
    return page.requests
      .map((row) => ({ ...briefOf(page, row), sums: kindSums(page, row) }))
      .filter(
        (one) =>
          (route === null || one.route === route) &&
          (process === null || one.process === process) &&
          (cohort === 'all' || (cohort === 'tail') === one.latencyNs >= fromNs),
      );
  }, [page, route, process, border, cohort]);
}

/** See the module. */
export function Requests() {
  const { page, view, change } = useLook();
  const [many, setMany] = useState(false);
  const listed = useListed();
  const shown = many ? listed : listed.slice(0, ROWS_FIRST);
  const slowest = shown[0]?.latencyNs ?? 0;
  const inFile = page.requests.length;
  return (
    <section aria-labelledby="requests">
      <h2 id="requests">Requests</h2>
      <div class="tools">
        <p class="count">
          {countOf(inFile, 'request')} of {page.report.requests.count.toLocaleString('en-US')} are
          in this file: the slowest, an example of each route and band of latency, and whom the
          longest collections delayed most. Any other: <code>bobtail explain</code>.
        </p>
        <fieldset class="choice">
          <legend class="hidden">Which requests</legend>
          {COHORTS.map(([cohort, name]) => (
            <label key={cohort} class={view.cohort === cohort ? 'checked' : ''}>
              <input
                type="radio"
                name="cohort"
                checked={view.cohort === cohort}
                onChange={() => change({ cohort })}
              />
              {name}
            </label>
          ))}
        </fieldset>
      </div>
      {listed.length === 0 ? (
        <p class="none">No request in this file is of this kind.</p>
      ) : (
        <table class="requests">
          <caption class="hidden">Requests in full, slowest first</caption>
          <thead>
            <tr>
              <th scope="col" class="number">
                rank
              </th>
              <th scope="col">route</th>
              <th scope="col">latency</th>
              <th scope="col">mostly</th>
              <th scope="col">request</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((one) => (
              <ListLine key={one.id} one={one} slowest={slowest} />
            ))}
          </tbody>
        </table>
      )}
      {listed.length > ROWS_FIRST && (
        <button type="button" onClick={() => setMany(!many)}>
          {many ? 'fewer requests' : `all ${listed.length} requests`}
        </button>
      )}
      <Chosen />
    </section>
  );
}

function ListLine({ one, slowest }: { one: Listed; slowest: number }) {
  const { page, view, change } = useLook();
  const kinds = KINDS.map((kind) => [kind, one.sums[kind] ?? 0] as const);
  const [most, mostNs] = kinds.reduce((best, kind) => (kind[1] > best[1] ? kind : best));
  const chosen = { ...view, request: one.id, segment: null };
  return (
    <tr aria-current={view.request === one.id ? 'true' : undefined}>
      <td class="number">{one.rank === 0 ? '–' : one.rank}</td>
      <td>
        <Recorded text={one.name} />
      </td>
      <td class="with-bar">
        <span class="bar" aria-hidden="true">
          {kinds.map(([kind, ns]) =>
            ns === 0 ? null : (
              <span
                key={kind}
                class={`fill ${kind}`}
                style={{ width: `${(ns / slowest) * 100}%` }}
              />
            ),
          )}
        </span>
        <span class="figure">{formatDuration(one.latencyNs)}</span>
      </td>
      <td>
        {formatShare(mostNs, one.latencyNs)} {most}
      </td>
      <td>
        <a
          href={fragmentOf(page, chosen)}
          onClick={(event) => {
            event.preventDefault();
            change({ request: one.id, segment: null });
          }}
        >
          {one.id}
        </a>
        {(one.truncated || one.inferredHops > 0) && (
          <span class="count"> {one.truncated ? 'truncated' : 'inferred hops'}</span>
        )}
      </td>
    </tr>
  );
}

/** The chosen request, or what to say when it is not here. */
function Chosen() {
  const { page, view, change } = useLook();
  const place = useRef<HTMLDivElement>(null);
  const row = page.requests.find(([id]) => id === view.request);
  const request = useMemo(
    () => (row === undefined ? undefined : requestOf(page, row)),
    [page, row],
  );
  useEffect(() => {
    if (view.request !== null) place.current?.querySelector('h3')?.focus();
  }, [view.request]);
  if (view.request === null) return null;
  return (
    <div class="chosen" ref={place}>
      {request === undefined ? (
        <Unknown id={view.request} />
      ) : (
        <RequestView key={request.id} request={request} />
      )}
      <button type="button" onClick={() => change({ request: null, segment: null })}>
        close
      </button>
    </div>
  );
}

/**
 * A link may carry anything, so a command is only offered for what can be an id: nobody is led to
 * paste what somebody else wrote into a shell.
 */
function Unknown({ id }: { id: string }) {
  return (
    <>
      <h3 tabIndex={-1}>
        Request <Recorded text={beginning(id, ID_SHOWN)} />
      </h3>
      {isRequestId(id) ? (
        <p>
          It is not in this file. <code>bobtail explain --request {id}</code> tells it from the
          recording.
        </p>
      ) : (
        <p>That is not the id of a request; one looks like 4121-0:17.</p>
      )}
    </>
  );
}
