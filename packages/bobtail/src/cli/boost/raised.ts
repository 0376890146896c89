/**
 * How long levers were up, told by the `bobtaild` that moves them.
 *
 * What a boost costs goes by the lever: of processes that share one each counts its own boosts, and
 * where those overlap their sum is more than the lever was up.
 */

/** Of one lever that processes share, whoever wanted it. */
export interface Raised {
  readonly lever: string;
  /** CPUs with one clock, or a control group. */
  readonly domain: Readonly<Record<string, unknown>>;
  /** Above its base. */
  readonly raisedNs: number;
  /** Since it was first had. */
  readonly ofNs: number;
}

/** Asks for it; nothing where nobody says. */
export type AskRaised = () => Promise<readonly Raised[]>;

/** What came between two askings. */
export function raisedSince(before: readonly Raised[], after: readonly Raised[]): Raised[] {
  const nameOf = ({ lever, domain }: Raised) => JSON.stringify([lever, domain]);
  const earlier = new Map(before.map((one) => [nameOf(one), one]));
  return after.map((one) => {
    const { raisedNs = 0, ofNs = 0 } = earlier.get(nameOf(one)) ?? {};
    return { ...one, raisedNs: one.raisedNs - raisedNs, ofNs: one.ofNs - ofNs };
  });
}

/**
 * Share of the time that they were had, or of `atLeastNs` where that is longer: who has ended does
 * not say that the levers are down since. Undefined where nobody says.
 */
export function raisedShare(raised: readonly Raised[], atLeastNs = 0): number | undefined {
  const sum = (of: (one: Raised) => number) => raised.reduce((all, one) => all + of(one), 0);
  const ofNs = sum((one) => Math.max(one.ofNs, atLeastNs));
  return ofNs > 0 ? sum(({ raisedNs }) => raisedNs) / ofNs : undefined;
}
