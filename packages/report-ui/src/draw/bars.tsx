/**
 * Bars inside tables: lengths beside the figures they stand for.
 *
 * A table with bars is its own alternative for whoever does not see them, so they are hidden from
 * screen readers and every length is told as text in the same row.
 */
import type { TimeSpent } from '../../../bobtail/src/cli/json/report';

/** The kinds of time on a critical path, in the order in which they are stacked. */
export const KINDS = ['io', 'queue', 'exec', 'unattributed'] as const;
/** One of them. */
export type Kind = (typeof KINDS)[number];

/** What each kind is. */
export const KIND_WORDS: Readonly<Record<Kind, string>> = {
  io: 'waiting for I/O',
  queue: 'queueing behind others',
  exec: 'running its own code',
  unattributed: 'not accounted for',
};

/** Time of a kind in a row of means. */
export function kindNs(row: TimeSpent, kind: Kind): number {
  switch (kind) {
    case 'io':
      return row.ioNs;
    case 'queue':
      return row.queueNs;
    case 'exec':
      return row.execNs;
    case 'unattributed':
      return row.unattributedNs;
  }
}

/** The kinds of a row next to each other; `wholeNs` has the full width. */
export function StackedBar({ row, wholeNs }: { row: TimeSpent; wholeNs: number }) {
  return (
    <span class="bar" aria-hidden="true">
      {KINDS.map((kind) => {
        const share = wholeNs === 0 ? 0 : kindNs(row, kind) / wholeNs;
        return share === 0 ? null : (
          <span key={kind} class={`fill ${kind}`} style={{ width: `${share * 100}%` }} />
        );
      })}
    </span>
  );
}

/** One length. */
export function Bar({ share, kind }: { share: number; kind: string }) {
  return (
    <span class="bar" aria-hidden="true">
      <span class={`fill ${kind}`} style={{ width: `${Math.min(1, share) * 100}%` }} />
    </span>
  );
}

/** What the colours stand for. */
export function KindLegend({ kinds = KINDS }: { kinds?: readonly Kind[] }) {
  return (
    <ul class="legend">
      {kinds.map((kind) => (
        <li key={kind}>
          <span class={`swatch ${kind}`} aria-hidden="true" />
          <b>{kind}</b> {KIND_WORDS[kind]}
        </li>
      ))}
    </ul>
  );
}
