/**
 * Changes as a table: A, B, the change with its interval, and a picture of it against the noise.
 *
 * The picture says nothing that the row does not tell in words, so it is hidden from screen readers.
 */
import type { ComponentChildren } from 'preact';
import { changeCells } from '../../../../bobtail/src/cli/diff/sentences';
import type { Change } from '../../../../bobtail/src/cli/json/diff';
import { formatCount, formatDuration } from '../../../../bobtail/src/cli/text/units';
import { type Forest, layoutForest, type Measure } from '../../layout/forest';

/** The sign stands beside its word, so that no colour is needed to tell them apart. */
const SIGNS: Readonly<Record<Change['verdict'], string>> = {
  more: '▲',
  less: '▼',
  'within-noise': '≈',
  'too-few': '–',
};

/** A row. */
export interface ChangeRow {
  readonly key: string;
  readonly name: ComponentChildren;
  readonly change: Change;
  /** Why nothing can be told of it. */
  readonly note?: string | null;
}

interface ChangeTableProps {
  readonly caption: string;
  readonly of: string;
  readonly rows: readonly ChangeRow[];
  /** `ratio`: pictured in shares of A, so that rows of any size can be compared. */
  readonly measure: Measure;
}

/** See the module. */
export function ChangeTable({ caption, of, rows, measure }: ChangeTableProps) {
  const forest = layoutForest(
    rows.map(({ change }) => change),
    measure,
  );
  return (
    <table class="changes">
      <caption class="hidden">{caption}</caption>
      <thead>
        <tr>
          <th scope="col">{of}</th>
          <th scope="col" class="number">
            A
          </th>
          <th scope="col" class="number">
            B
          </th>
          <th scope="col" class="number">
            change [95 % interval]
          </th>
          <th scope="col" class="picture">
            <Scale forest={forest} measure={measure} />
          </th>
          <th scope="col">against the noise</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <Line key={row.key} row={row} forest={forest} />
        ))}
      </tbody>
    </table>
  );
}

function Scale({ forest, measure }: { forest: Forest; measure: Measure }) {
  const [low, high] = forest.ends;
  const text = (end: number): string =>
    measure === 'time' ? formatDuration(Math.abs(end)) : `${formatCount(Math.abs(end) * 100)} %`;
  return (
    <>
      <span class="hidden">pictured</span>
      {low < high && (
        <span class="scale" aria-hidden="true">
          <span>−{text(low)}</span>
          <span>0</span>
          <span>+{text(high)}</span>
        </span>
      )}
    </>
  );
}

function Line({ row, forest }: { row: ChangeRow; forest: Forest }) {
  const { name, change, note } = row;
  const [a, b, delta, interval, noise, verdict] = changeCells(change);
  const word = (
    <span class="word">
      <span aria-hidden="true">{SIGNS[change.verdict]}</span> {verdict}
    </span>
  );
  return (
    <tr class={change.verdict}>
      <th scope="row">{name}</th>
      <td class="number">{a}</td>
      <td class="number">{b}</td>
      {change.deltaNs === null ? (
        <td class="lack" colSpan={3}>
          {word}
          {note && <span class="count">: {note}</span>}
        </td>
      ) : (
        <>
          <td class="number delta">
            <span class="figure">{delta}</span> <span class="count">{interval}</span>
          </td>
          <td class="picture">
            <Picture change={change} forest={forest} />
          </td>
          <td class="verdict">
            {word} <span class="count">{noise !== '' && `noise ${noise}`}</span>
          </td>
        </>
      )}
    </tr>
  );
}

function Picture({ change, forest }: { change: Change; forest: Forest }) {
  const row = forest.rowOf(change);
  if (row === null) return null;
  const { delta, interval, noise } = row;
  const from = (left: number, right: number) => ({
    left: `${left * 100}%`,
    width: `${(right - left) * 100}%`,
  });
  return (
    <span class="forest" aria-hidden="true">
      <span class="noise" style={from(noise.from, noise.to)} />
      <span class="zero" />
      <span
        class={`whisker${interval.cut ? ' cut' : ''}`}
        style={from(interval.from, interval.to)}
      />
      <span class="dot" style={{ left: `${delta * 100}%` }} />
    </span>
  );
}
