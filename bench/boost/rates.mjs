// The loads that `run.mjs` has calibrated so far.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The rate of such a load that keeps the loop as busy on a core that does a unit in `unitMs`. */
export function rateAt(rate, unitMs) {
  return (rate.ratePerS * rate.unitMs) / unitMs;
}

/**
 * `{ratePerS, unitMs}` by service (with `-cluster`): requests per second on a core that does a unit
 * of `speed.mjs` in so many ms. Throws where a run is of an older kind, which has other figures.
 */
export function ratesIn(folder) {
  const path = join(folder, 'rates.json');
  const rates = JSON.parse(readFileSync(path, 'utf8'));
  for (const [service, { ratePerS, unitMs }] of Object.entries(rates)) {
    if (!(ratePerS > 0 && unitMs > 0)) {
      throw new Error(`${path}: ${service} has no ratePerS and unitMs: begin another run`);
    }
  }
  return rates;
}
