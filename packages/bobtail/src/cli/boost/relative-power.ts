/**
 * Power at a speed, relative to that at base: the model that replays go by, for a boost that is
 * live.
 *
 * Written twice, here and in `crates/policy/src/energy.rs`, since a boost that has ended is summed
 * up by the command line, which loads no native code for it. The paper's points (VEE'19, figure 7:
 * 1, 1.676 and 2.712 at 2.6, 3.3 and 4.0 GHz) are joined by power laws.
 */
interface Point {
  /** Frequency, relative to base. */
  readonly ratio: number;
  readonly power: number;
}

const LOW: Point = { ratio: 1, power: 1 };
const MIDDLE: Point = { ratio: 3.3 / 2.6, power: 1.676 };
const HIGH: Point = { ratio: 4 / 2.6, power: 2.712 };
/** Frequencies are whole kHz. */
const SAME = 1e-6;

/** `ratio`: speed by that at base; beyond the points it goes on as between the nearest two. */
export function relativePower(ratio: number): number {
  const met = [LOW, MIDDLE, HIGH].find((point) => Math.abs(point.ratio - ratio) < SAME);
  if (met !== undefined) return met.power;
  const [from, to] = ratio <= MIDDLE.ratio ? [LOW, MIDDLE] : [MIDDLE, HIGH];
  const exponent = Math.log(to.power / from.power) / Math.log(to.ratio / from.ratio);
  return from.power * (ratio / from.ratio) ** exponent;
}
