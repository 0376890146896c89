/**
 * Geometry of an event dependency graph: a row for each event in the order of time, the critical
 * path down the left, what branches off it in columns beside.
 *
 * Rows instead of a free layout, because they can be read from top to bottom, on a phone and by a
 * screen reader, and an event's own words need the room.
 */
import type { ExplainedEvent } from '../../../bobtail/src/cli/json/explanation';

/** An event in its row. */
export interface Node {
  readonly event: ExplainedEvent;
  readonly row: number;
  /** 0 is the critical path. */
  readonly column: number;
}

/** Two rows, where the first registered the second. */
export interface Edge {
  readonly from: Node;
  readonly to: Node;
  /** Both are on the path, one after the other. */
  readonly critical: boolean;
}

/** The whole graph. */
export interface EdgLayout {
  readonly nodes: readonly Node[];
  readonly edges: readonly Edge[];
  readonly columns: number;
}

const COLUMNS_MAX = 6;

/** Lays out events; those beside the path are left out unless `all`. */
export function layoutEdg(events: readonly ExplainedEvent[], all: boolean): EdgLayout {
  const shown = events.filter((event) => all || event.onPath);
  const timeOf = (event: ExplainedEvent): number =>
    event.beginNs ?? event.readyNs ?? event.registerNs ?? 0;
  // Events are numbered by begin, which is all there is to say about those without a time.
  const ordered = [...shown].sort((a, b) => a.id - b.id || timeOf(a) - timeOf(b));
  const nodes = new Map<number, Node>();
  const lastRowOf = lastUses(ordered);
  const busyUntil: number[] = [];
  ordered.forEach((event, row) => {
    let column = 0;
    if (!event.onPath) {
      column = 1;
      while (column < COLUMNS_MAX && (busyUntil[column] ?? -1) >= row) column += 1;
      busyUntil[column] = Math.max(row, lastRowOf.get(event.id) ?? row);
    }
    nodes.set(event.id, { event, row, column });
  });
  const edges: Edge[] = [];
  let previous: Node | undefined;
  for (const node of nodes.values()) {
    const { event } = node;
    if (event.onPath) {
      if (previous !== undefined) edges.push({ from: previous, to: node, critical: true });
      previous = node;
    }
    const from = nodes.get(event.registrar);
    const told = edges.at(-1);
    const known = told?.critical && told.from === from && told.to === node;
    if (from !== undefined && from !== node && !known) {
      edges.push({ from, to: node, critical: false });
    }
  }
  const columns = 1 + Math.max(0, ...[...nodes.values()].map(({ column }) => column));
  return { nodes: [...nodes.values()], edges, columns };
}

/** The last row in which something registered by an event lies. */
function lastUses(ordered: readonly ExplainedEvent[]): Map<number, number> {
  const last = new Map<number, number>();
  ordered.forEach(({ registrar }, row) => {
    if (registrar !== 0) last.set(registrar, row);
  });
  return last;
}
