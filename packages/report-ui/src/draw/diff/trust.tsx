/** How far the comparison can be trusted: how it was made, what was lost, and its limits. */
import { methodLine } from '../../../../bobtail/src/cli/diff/sentences';
import type { DiffSide } from '../../../../bobtail/src/cli/json/diff';
import { countOf, formatCount, formatDuration } from '../../../../bobtail/src/cli/text/units';
import type { SideName } from '../../data/diff-page';
import { Recorded } from '../text';
import { SideKey } from './curves';
import { useDiffLook } from './look';

const LIMITS = [
  'More and less are told only where the interval excludes 0 and the change exceeds the noise.',
  'The noise is what halves of one and the same recording differ by.',
  'Intervals are of 95 %. In simulated services they held the truth in 84 to 100 of 100 pairs of recordings, the least where a few incidents make the tail.',
  'A percentile needs ten requests beyond it in each recording, eight blocks of time, and slow requests in five of them (eight, of fewer than a hundred).',
  'Two recordings can be compared only under the same load on the same machine.',
];

/** The section at the end. */
export function DiffTrust() {
  const { diff, meta } = useDiffLook().page;
  return (
    <section aria-labelledby="trust">
      <h2 id="trust">How far to trust this</h2>
      <p>{methodLine(diff)}</p>
      <ul>
        {LIMITS.map((limit) => (
          <li key={limit}>{limit}</li>
        ))}
        {diff.notes.map((note) => (
          <li key={note}>
            <Recorded text={note} />
          </li>
        ))}
      </ul>
      {(['a', 'b'] as const).map((side, index) => (
        <Side key={side} name={side} side={diff[side]} folder={meta.folders[index] ?? ''} />
      ))}
      <p class="run">Bobtail {meta.version}</p>
    </section>
  );
}

function Side({ name, side, folder }: { name: SideName; side: DiffSide; folder: string }) {
  const { run, losses, blocks, requests } = side;
  const lost = Object.entries(losses).filter(([, count]) => count > 0);
  const facts = [
    countOf(requests, 'request'),
    `${countOf(blocks, 'block')} of time`,
    formatDuration(run.recordedNs),
    `Node ${run.node.join(', ')}`,
    countOf(run.processes.length, 'event loop'),
    `detail ${run.detail}`,
    run.startedAt,
  ];
  return (
    <>
      <h3>
        <SideKey side={name} /> {name.toUpperCase()} <Recorded text={folder} />
      </h3>
      <p class="run">
        <code>
          <Recorded text={run.command.join(' ')} />
        </code>{' '}
        · {facts.filter((fact) => fact !== '').join(' · ')}
      </p>
      <p class="run">
        Lost records:{' '}
        {lost.length === 0
          ? 'none'
          : lost.map(([word, count]) => `${formatCount(count)} ${word}`).join(', ')}
        .
      </p>
    </>
  );
}
