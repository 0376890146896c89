/**
 * What the tail is made of against the rest, per route and per process, as a table with stacked
 * bars (the paper's figure 6 and table 5).
 */
import { useState } from 'preact/hooks';
import type { TimeSpent } from '../../../bobtail/src/cli/json/report';
import {
  countOf,
  formatCount,
  formatDuration,
  formatFineShare,
  formatShare,
} from '../../../bobtail/src/cli/text/units';
import { processName } from '../data/page';
import { cellsOf, type Split, split, splitBy } from '../data/sums';
import { KINDS, KindLegend, kindNs, StackedBar } from './bars';
import { useLook } from './context';
import { Recorded } from './text';

const ROWS_FIRST = 6;

/** One line of the table: of whom, and their time. */
interface Line {
  readonly name: string;
  readonly choose?: () => void;
  readonly split: Split;
}

/** Rows for all shown requests and for each route. */
export function Routes() {
  const { page, view, change } = useLook();
  const lines = splitBy(page, view, 'route').map(({ index, split }) => ({
    name: page.routes[index] ?? '',
    choose: () => change({ route: view.route === index ? null : index }),
    split,
  }));
  const all = { name: 'all routes', split: split(page, cellsOf(page, view), view) };
  return (
    <Composition
      of="route"
      lines={view.route === null ? [all, ...lines] : lines}
      caption="By route"
    />
  );
}

/** Rows for each process; nothing where there is only one. */
export function Processes() {
  const { page, view, change } = useLook();
  if (page.processes.length < 2) return null;
  const lines = splitBy(page, { ...view, process: null }, 'process').map(({ index, split }) => {
    const process = page.processes[index];
    return {
      name: process === undefined ? '' : processName(process),
      choose: () => change({ process: view.process === index ? null : index }),
      split,
    };
  });
  return (
    <section aria-labelledby="processes">
      <h2 id="processes">Which process</h2>
      <Composition of="process" lines={lines} caption="By process and thread" />
      <Cluster />
    </section>
  );
}

/** The parts of the tail of all processes together, as shares of its latency. */
function Cluster() {
  const { cluster } = useLook().page.report;
  if (!cluster) return null;
  const { latencyNs, ioNs, icNs, gcNs, jitNs, nativeNs, otherNs } = cluster;
  const parts = { io: ioNs, ic: icNs, gc: gcNs, jit: jitNs, native: nativeNs, other: otherNs };
  const shares = Object.entries(parts).map(
    ([name, partNs]) => `${name} ${partNs === null ? '–' : formatFineShare(partNs, latencyNs)}`,
  );
  return (
    <p class="note" id="cluster">
      Of the latency of the tail of all {countOf(cluster.processes, 'process')}: {shares.join(', ')}
      . For all routes and the report's own tail.
    </p>
  );
}

function Composition({ of, lines, caption }: { of: string; lines: Line[]; caption: string }) {
  const [byShare, setByShare] = useState(false);
  const [many, setMany] = useState(false);
  const shown = many ? lines : lines.slice(0, ROWS_FIRST);
  const longest = Math.max(
    ...shown.flatMap(({ split }) => [split.tail?.latencyNs ?? 0, split.rest?.latencyNs ?? 0]),
  );
  const kinds = KINDS.filter(
    (kind) =>
      kind !== 'unattributed' ||
      lines.some(({ split }) =>
        [split.tail, split.rest].some((row) => row && kindNs(row, kind) > 0),
      ),
  );
  return (
    <div>
      <div class="tools">
        <KindLegend kinds={kinds} />
        <button type="button" aria-pressed={byShare} onClick={() => setByShare(!byShare)}>
          as shares
        </button>
      </div>
      <table class="composition">
        <caption class="hidden">
          {caption}: mean time per request in the tail and in the rest
        </caption>
        <thead>
          <tr>
            <th scope="col">{of}</th>
            <th scope="col">
              <span class="hidden">tail or rest</span>
            </th>
            <th scope="col">mean time per request</th>
            {kinds.map((kind) => (
              <th key={kind} scope="col" class="number">
                {kind}
              </th>
            ))}
          </tr>
        </thead>
        {shown.map((line) => (
          <tbody key={line.name}>
            {(['tail', 'rest'] as const).map((cls) => (
              <ClassRow
                key={cls}
                line={line}
                cls={cls}
                kinds={kinds}
                whole={byShare ? 0 : longest}
              />
            ))}
          </tbody>
        ))}
      </table>
      {lines.length > ROWS_FIRST && (
        <button type="button" onClick={() => setMany(!many)}>
          {many ? 'fewer' : `all ${countOf(lines.length, 'row')}`}
        </button>
      )}
    </div>
  );
}

interface ClassRowProps {
  readonly line: Line;
  readonly cls: 'tail' | 'rest';
  readonly kinds: readonly (typeof KINDS)[number][];
  /** Full width; 0: each bar has it. */
  readonly whole: number;
}

function ClassRow({ line, cls, kinds, whole }: ClassRowProps) {
  const row: TimeSpent | undefined = line.split[cls];
  return (
    <tr class={cls}>
      {cls === 'tail' && (
        <th scope="rowgroup" rowSpan={2}>
          {line.choose === undefined ? (
            line.name
          ) : (
            <button type="button" class="name" onClick={line.choose}>
              <Recorded text={line.name} />
            </button>
          )}
        </th>
      )}
      <th scope="row" class="class">
        {cls} <span class="count">{row === undefined ? '0' : formatCount(row.count)}</span>
      </th>
      {row === undefined ? (
        <td colSpan={kinds.length + 1} class="none">
          none
        </td>
      ) : (
        <>
          <td class="with-bar">
            <StackedBar row={row} wholeNs={whole === 0 ? row.latencyNs : whole} />
            <span class="figure">{formatDuration(row.latencyNs)}</span>
          </td>
          {kinds.map((kind) => (
            <td key={kind} class="number">
              {formatShare(kindNs(row, kind), row.latencyNs)}
            </td>
          ))}
        </>
      )}
    </tr>
  );
}
