/** The longest collections: what each interrupted, and whom it delayed. */

import { useState } from 'preact/hooks';
import type { Pause } from '../../../bobtail/src/cli/json/report';
import { pausePlace } from '../../../bobtail/src/cli/report/sentences';
import { countOf, formatCount, formatDuration } from '../../../bobtail/src/cli/text/units';
import { processName } from '../data/page';
import { fragmentOf } from '../data/view';
import { Bar } from './bars';
import { useLook } from './context';
import { Recorded } from './text';

const ROWS_FIRST = 5;
const VICTIMS_FIRST = 4;

/** See the module; nothing of a recording without collections. */
export function Pauses() {
  const { page, view } = useLook();
  const [many, setMany] = useState(false);
  const process = view.process === null ? undefined : page.processes[view.process];
  const all = page.report.pauses.filter(
    (pause) =>
      process === undefined || (pause.pid === process.pid && pause.thread === process.thread),
  );
  if (page.report.pauses.length === 0) return null;
  const shown = many ? all : all.slice(0, ROWS_FIRST);
  const longest = shown[0]?.durationNs ?? 1;
  return (
    <section aria-labelledby="pauses">
      <h2 id="pauses">The longest garbage collections</h2>
      {view.route !== null && <p class="note">Of all routes together.</p>}
      {shown.length === 0 ? (
        <p class="none">None of the longest was in this process.</p>
      ) : (
        <table class="pauses">
          <caption class="hidden">
            Single collections, what each interrupted, and which requests it delayed
          </caption>
          <thead>
            <tr>
              <th scope="col">collection</th>
              <th scope="col">took</th>
              <th scope="col">inside</th>
              <th scope="col">whom it delayed: the tail first, then by how much</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((pause) => (
              <PauseLine
                key={`${processName(pause)}:${pause.number}`}
                pause={pause}
                longest={longest}
              />
            ))}
          </tbody>
        </table>
      )}
      {all.length > ROWS_FIRST && (
        <button type="button" onClick={() => setMany(!many)}>
          {many ? 'fewer collections' : `all ${all.length} collections`}
        </button>
      )}
    </section>
  );
}

function PauseLine({ pause, longest }: { pause: Pause; longest: number }) {
  const { page } = useLook();
  const { kind, durationNs, startNs, inside } = pause;
  const where = page.processes.length > 1 ? ` in ${processName(pause)}` : '';
  return (
    <tr>
      <th scope="row">
        <Recorded text={kind} />{' '}
        <span class="count">
          at {formatDuration(startNs)}
          {where}
        </span>
      </th>
      <td class="with-bar">
        <Bar share={durationNs / longest} kind="work-gc" />
        <span class="figure">{formatDuration(durationNs)}</span>
      </td>
      <td>
        {inside === null ? (
          <span class="none">unknown</span>
        ) : (
          <>
            <Recorded text={pausePlace(pause)} />
            {inside.location !== null && (
              <code class="place">
                <Recorded text={inside.location} />
              </code>
            )}
          </>
        )}
      </td>
      <td>
        <Victims pause={pause} />
      </td>
    </tr>
  );
}

/** How many, how much, and some of them, each leading to its view. */
function Victims({ pause }: { pause: Pause }) {
  const { page, view, change } = useLook();
  const { victims, tailVictims, inflictedNs, requests } = pause;
  if (victims === 0) return <span class="none">nobody</span>;
  const named = requests.slice(0, VICTIMS_FIRST);
  const more = victims - named.length;
  return (
    <>
      {countOf(victims, 'request')} waited <span class="figure">{formatDuration(inflictedNs)}</span>{' '}
      in all, {formatCount(tailVictims)} of the tail
      <ul class="victims">
        {named.map(({ id, class: cls, delayNs, latencyNs }) => (
          <li key={id}>
            <a
              href={fragmentOf(page, { ...view, request: id, segment: null })}
              onClick={(event) => {
                event.preventDefault();
                change({ request: id, segment: null });
              }}
            >
              {id}
            </a>{' '}
            <span class="figure">{formatDuration(delayNs)}</span>{' '}
            <span class="count">
              of {formatDuration(latencyNs)}
              {cls === 'tail' ? ', tail' : ''}
            </span>
          </li>
        ))}
        {more > 0 && <li class="count">and {formatCount(more)} more</li>}
      </ul>
    </>
  );
}
