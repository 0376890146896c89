/** Made-up measurements of known truth: a service whose rounds differ, as on a shared machine. */

/** Seeded numbers from 0 to 1; of its own, since the one under test orders the trials. */
export function randomOf(seed) {
  let state = BigInt(seed) * 2862933555777941757n + 3037000493n;
  return () => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
    return Number(state >> 11n) / 2 ** 53;
  };
}

/** Standard normal (Box and Muller). */
export function normal(random) {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/**
 * One sample: latencies of a heavy tail around 1 ms, times `factor`, times what this very run has
 * of its own (15 % either way).
 */
export function sampleOf(random, factor, requests) {
  const ofRun = Math.exp(0.15 * normal(random));
  const latencies = Array.from({ length: requests }, () => {
    const body = 1e6 * Math.exp(0.4 * normal(random));
    const isSlow = random() < 0.02;
    return Math.round((isSlow ? body * 10 : body) * factor * ofRun);
  });
  return {
    latencies: latencies.sort((a, b) => a - b).map((ns) => [ns, 1]),
    requests,
    cpuNsPerRequest: 1e6 * ofRun,
    requestsPerS: 100,
    peakRssBytes: 1e8,
    collections: [],
  };
}

/** The rounds of an arm. */
export function roundsOf(random, factor, rounds, requests = 250) {
  return Array.from({ length: rounds }, () => sampleOf(random, factor, requests));
}
