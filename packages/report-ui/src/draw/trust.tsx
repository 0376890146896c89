/** How far the page can be trusted: losses, deduced hops, what was not measured, and limits. */
import { isNotAsked, trustParts } from '../../../bobtail/src/cli/report/sentences';
import { countOf, formatCount, formatDuration } from '../../../bobtail/src/cli/text/units';
import { useLook } from './context';
import { Recorded } from './text';

const LIMITS = [
  'Accounted for is what has its place on the path of a request; that its cause is known is not said with it.',
  'Percentiles are told only with ten requests beyond them.',
  'Intervals hold 95 % and assume independent requests; slow ones come in groups, so they are too narrow. Those of gates come from blocks of time: in simulated services they held the truth in 83 to 100 of 100 recordings, by what made the tail.',
  'Latency counts from the moment the kernel had the request, not from when its client meant to send it.',
  'For a route or a process percentiles are read off buckets two percent wide.',
];

/** The section at the end. */
export function Trust() {
  const { report, meta } = useLook().page;
  const { requests, run, losses } = report;
  const lost = Object.entries(losses).filter(([, count]) => count > 0);
  const facts: [string, string][] = [
    ['complete', countOf(requests.complete, 'request')],
    ['with inferred hops', formatCount(requests.inferred)],
    ['truncated', formatCount(requests.truncated)],
    ['unfinished', formatCount(requests.unfinished)],
    ['left out as warm-up', formatCount(requests.warmup)],
    ['cut off', formatCount(requests.cutOff)],
    ['across a pause', formatCount(requests.straddling)],
  ];
  return (
    <section aria-labelledby="trust">
      <h2 id="trust">How far to trust this</h2>
      <p>{trustParts(report).join(' · ')}</p>
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <h3>Lost records</h3>
      {lost.length === 0 ? (
        <p>None.</p>
      ) : (
        <ul>
          {lost.map(([word, count]) => (
            <li key={word}>
              {formatCount(count)} {word}
            </li>
          ))}
        </ul>
      )}
      <h3>Not measured here</h3>
      {report.unavailable.length === 0 ? (
        <p>Everything was measured.</p>
      ) : (
        <ul>
          {report.unavailable.map(({ mechanism, reason }) => (
            <li key={mechanism}>
              <b>
                <Recorded text={mechanism} />
              </b>{' '}
              <Recorded text={isNotAsked(reason) ? 'not asked for' : reason} />
            </li>
          ))}
        </ul>
      )}
      {report.notes.length > 0 && (
        <>
          <h3>Source maps</h3>
          <ul class="notes">
            {report.notes.map((note) => (
              <li key={note}>
                <Recorded text={note} />
              </li>
            ))}
          </ul>
        </>
      )}
      <h3>Limits</h3>
      <ul>
        {LIMITS.map((limit) => (
          <li key={limit}>{limit}</li>
        ))}
      </ul>
      <p class="run">
        <code>
          <Recorded text={run.command.join(' ')} />
        </code>{' '}
        · Node {run.node.join(', ')} · {run.startedAt} · {formatDuration(run.durationNs)} ·{' '}
        {countOf(run.processes.length, 'event loop')} · detail {run.detail} · Bobtail {meta.version}{' '}
        · <Recorded text={meta.folders.join(' ')} />
      </p>
    </section>
  );
}
