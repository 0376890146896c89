/** One request: its path as a strip, the loop meanwhile, its events, and why each piece was. */
import { WORK_CLASSES } from '../../../bobtail/src/cli/report/work-tables';
import { countOf, formatDuration, formatShare } from '../../../bobtail/src/cli/text/units';
import {
  culpritsTogether,
  culpritWhere,
  culpritWho,
  requestVerdict,
  segmentWords,
} from '../data/causes';
import { processName } from '../data/page';
import type { Request, ShownSegment } from '../data/request';
import { Bar } from './bars';
import { useLook } from './context';
import { CopyLink } from './copy-link';
import { Chip, Edg } from './edg';
import { Generated, Recorded } from './text';
import { TimelineFigure } from './timeline';

/** See the module. */
export function RequestView({ request }: { request: Request }) {
  const { page, view } = useLook();
  const process = page.processes[request.process];
  const facts = [
    `request ${request.id}`,
    request.rank > 0 ? `number ${request.rank} of the slowest` : 'an example',
    request.status === 0 ? '' : `status ${request.status}`,
    page.processes.length > 1 && process !== undefined ? `process ${processName(process)}` : '',
    request.truncated ? 'truncated: a part of its history was lost' : '',
    request.inferredHops > 0 ? `${countOf(request.inferredHops, 'hop')} inferred` : '',
  ];
  const segment =
    view.segment !== null && view.segment < request.segments.length ? view.segment : null;
  return (
    <article>
      <h3 tabIndex={-1}>
        <Recorded text={request.name} />{' '}
        <span class="figure">{formatDuration(request.latencyNs)}</span>
      </h3>
      <p class="count">
        {facts.filter((fact) => fact !== '').join(' · ')} <CopyLink key={location.hash} />
      </p>
      <p>
        Longest piece: <Recorded text={requestVerdict(request.segments)} />.
      </p>
      <Strip request={request} segment={segment} />
      <Cause request={request} segment={segment} />
      <TimelineFigure request={request} segment={segment} />
      <Edg request={request} segment={segment} />
      <Segments request={request} segment={segment} />
    </article>
  );
}

/** The path from the source to the sink, to scale; each piece can be chosen. */
function Strip({ request, segment }: { request: Request; segment: number | null }) {
  const { change } = useLook();
  return (
    <div class="strip" aria-hidden="true">
      {request.segments.map((one, index) => (
        // The chips and the table of segments do the same for the keyboard.
        // biome-ignore lint/a11y/useKeyWithClickEvents: see above
        // biome-ignore lint/a11y/noStaticElementInteractions: see above
        <span
          key={one.startNs + one.kind + one.event}
          class={`fill ${one.kind}${index === segment ? ' chosen' : ''}`}
          style={{ width: `${(one.durationNs / Math.max(1, request.latencyNs)) * 100}%` }}
          title={`${one.kind} ${formatDuration(one.durationNs)}`}
          onClick={() => change({ segment: index === segment ? null : index }, true)}
        />
      ))}
    </div>
  );
}

/** Why the chosen segment was; the longest one where none is chosen. */
function Cause({ request, segment }: { request: Request; segment: number | null }) {
  const longest = request.segments.reduce(
    (best, one, index) =>
      one.durationNs > (request.segments[best]?.durationNs ?? 0) ? index : best,
    0,
  );
  const one = request.segments[segment ?? longest];
  if (one === undefined) return null;
  const culprits = culpritsTogether(one);
  const from = one.startNs === 0 ? 'from the moment' : `${formatDuration(one.startNs)} after`;
  return (
    <div class="cause" aria-live="polite">
      <h4>
        <span class={`swatch ${one.kind}`} aria-hidden="true" />
        {one.kind} {formatDuration(one.durationNs)}, {from} it was ready
      </h4>
      <p>
        <Recorded text={segmentWords(one)} />
        {!one.exact && '; its ends were not observed exactly'}
        {one.inferred && '; the hop to it was deduced, not observed'}.
      </p>
      <WorkWords segment={one} />
      {culprits.length > 0 && (
        <table>
          <caption class="hidden">
            {one.kind === 'queue' ? 'Who had the loop meanwhile' : 'What interrupted it'}
          </caption>
          <thead>
            <tr>
              <th scope="col">{one.kind === 'queue' ? 'behind' : 'in it'}</th>
              <th scope="col">took</th>
            </tr>
          </thead>
          <tbody>
            {culprits.map((culprit, index) => (
              <tr key={`${culprit.event} ${culprit.type} ${index}`}>
                <th scope="row">
                  <Recorded text={culpritWho(culprit)} />{' '}
                  <span class="count">
                    <Recorded text={culpritWhere(culprit)} />{' '}
                    <Generated location={culprit.generatedLocation} />
                    {culprit.pause !== null &&
                      ` of a pause of ${formatDuration(culprit.pause.durationNs)}`}
                  </span>
                </th>
                <td class="with-bar">
                  <Bar
                    share={culprit.durationNs / Math.max(1, one.durationNs)}
                    kind={culprit.type.startsWith('gc ') ? 'work-gc' : 'queue'}
                  />
                  <span class="figure">{formatDuration(culprit.durationNs)}</span>{' '}
                  <span class="count">{formatShare(culprit.durationNs, one.durationNs)}</span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

function WorkWords({ segment }: { segment: ShownSegment }) {
  const parts = WORK_CLASSES.filter(({ key }) => (segment.work[key] ?? 0) > 0);
  if (parts.length === 0) return null;
  const words = parts.map(({ key, name }) => `${name} ${formatDuration(segment.work[key] ?? 0)}`);
  return <p class="count">The loop thread meanwhile: {words.join(', ')}.</p>;
}

/** All segments in path order. */
function Segments({ request, segment }: { request: Request; segment: number | null }) {
  return (
    <details class="data segments">
      <summary>All {countOf(request.segments.length, 'segment')} as a table</summary>
      <table>
        <thead>
          <tr>
            <th scope="col" class="number">
              at
            </th>
            <th scope="col">segment</th>
            <th scope="col" class="number">
              share
            </th>
            <th scope="col">event</th>
            <th scope="col">what</th>
          </tr>
        </thead>
        <tbody>
          {request.segments.map((one, index) => (
            <tr key={one.startNs + one.kind + one.event}>
              <td class="number">{formatDuration(one.startNs)}</td>
              <td>
                <Chip segment={one} index={index} chosen={index === segment} />
              </td>
              <td class="number">{formatShare(one.durationNs, request.latencyNs)}</td>
              <td>{one.type}</td>
              <td>
                <Recorded text={segmentWords(one)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
