/** Arms that used more memory than they may: one run is enough, since the kernel kills for one. */
import { formatMebibytes } from '../cli/text/units';
import type { ArmRecord, Leaving } from './experiment';

/** Those of these, by name. */
export function overBudget(
  records: readonly ArmRecord[],
  budgetBytes: number,
): Map<string, Leaving> {
  const leaving = new Map<string, Leaving>();
  for (const { arm, samples } of records) {
    const over = samples.find((one) => one.peakRssBytes > budgetBytes);
    if (over === undefined) continue;
    const [used, allowed] = [over.peakRssBytes, budgetBytes].map(formatMebibytes);
    leaving.set(arm.name, { of: 'budget', reason: `it used ${used} of ${allowed}` });
  }
  return leaving;
}
