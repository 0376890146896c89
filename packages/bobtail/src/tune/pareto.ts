/** What no other arm beats in everything: pure. */

/** An arm's costs, all the lower the better, in the same order for all. */
export interface Costed {
  readonly costs: readonly number[];
}

/** Those that no other is at least as good as in all costs and better than in one, in order. */
export function paretoSet<T extends Costed>(arms: readonly T[]): T[] {
  return arms.filter((one) => !arms.some((other) => dominates(other.costs, one.costs)));
}

function dominates(one: readonly number[], other: readonly number[]): boolean {
  const noWorse = one.every((cost, index) => cost <= other[index]!);
  return noWorse && one.some((cost, index) => cost < other[index]!);
}
