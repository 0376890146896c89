// The few statistics that experiments share: quantiles with interpolation, and order of trials.

/** The quantile `q` (0 to 1) of an ascending list, interpolated. */
export function quantile(sorted, q) {
  const at = (sorted.length - 1) * q;
  const low = Math.floor(at);
  return sorted[low] + (sorted[Math.ceil(at)] - sorted[low]) * (at - low);
}

/** Median and quartiles of a list in any order. */
export function quartiles(list) {
  const sorted = [...list].sort((a, b) => a - b);
  return {
    median: quantile(sorted, 0.5),
    low: quantile(sorted, 0.25),
    high: quantile(sorted, 0.75),
  };
}

/** A copy in random order, so that no arm always follows the same one. */
export function shuffled(list) {
  const copy = [...list];
  for (let i = copy.length - 1; i > 0; i -= 1) {
    const j = Math.floor(Math.random() * (i + 1));
    [copy[i], copy[j]] = [copy[j], copy[i]];
  }
  return copy;
}
