/**
 * Energy while a service runs, as the machine counts it: RAPL, of all packages, whoever uses them.
 *
 * Where it counts none, or none that may be read (since 2020 only root may), there is the model.
 */
import { openEnergyMeter } from '../analysis';
import type { Energy } from './summary';

/** Begins to count; gives what was used since, null where nothing is counted. */
export function startMetering(root?: string): () => Energy | null {
  const meter = openEnergyMeter(root);
  let last: Energy | null = null;
  return () => {
    try {
      if (meter !== undefined) last = { kind: 'measured', joules: meter.joules() };
    } catch {
      // The counter went away in the middle: what was used since then is not known, nor is the sum.
      last = null;
    }
    return last;
  };
}
