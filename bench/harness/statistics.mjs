// The few statistics that experiments share: means, quantiles with interpolation, and order of
// trials.

/** The arithmetic mean of a list. */
export function mean(list) {
  return list.reduce((sum, one) => sum + one, 0) / list.length;
}

/** Of numbers above 0. */
export function geometricMean(list) {
  return Math.exp(mean(list.map(Math.log)));
}

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

/**
 * The median of a list in any order and its 95 % confidence interval, from the binomial order of
 * its samples: nothing is assumed of their distribution.
 */
export function medianInterval(list) {
  const sorted = [...list].sort((a, b) => a - b);
  const aside = 0.98 * Math.sqrt(sorted.length);
  const rank = (at) => sorted[Math.min(sorted.length - 1, Math.max(0, at))];
  return {
    median: quantile(sorted, 0.5),
    low: rank(Math.floor(sorted.length / 2 - aside) - 1),
    high: rank(Math.ceil(sorted.length / 2 + aside)),
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
