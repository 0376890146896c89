// Sets Bobtail's shares beside the sampler's, over exactly the same time.
//
// Only samples within a request's own time on the thread count, and only segments between the
// first and the last sample. Time in which the thread was preempted has no samples, so it is left
// out of Bobtail's sum, too, and so is the loop's own time between events, mostly in the kernel.
// `sweep` is memory that the program itself sweeps when it allocates: a collector's work outside
// any collection, which Bobtail does not tell from native. `probe` is the probe's own code; both
// count as native here. `hidden` are sleeps on a condition whose caller the sampler could not see.

const CLASSES = ['gc', 'jit', 'ic', 'native'];
/** Differences beyond this many points are called a disagreement. */
export const POINTS_MAX = 3;

/** The samples taken within `segments`, with `ns`: a sleep counts as far as it lies within. */
function samplesWithin(samples, segments) {
  const within = [];
  let at = 0;
  for (const sample of samples) {
    while (at < segments.length && segments[at].untilNs <= sample.fromNs) at += 1;
    if (at === segments.length) break;
    const untilNs = sample.slept ? Math.min(sample.untilNs, segments[at].untilNs) : sample.untilNs;
    const isInside = segments[at].fromNs <= sample.fromNs;
    if (isInside) within.push({ ...sample, ns: untilNs - sample.fromNs });
  }
  return within;
}

/** The functions that decided most samples of each class: what to look at when shares disagree. */
function decidingFunctions(samples) {
  const counts = {};
  for (const { work, deciding, ns } of samples) {
    counts[work] ??= new Map();
    const name = deciding.replace(/^(v8::internal::\(anonymous namespace\)::\w+|[^(<]*).*/, '$1');
    counts[work].set(name, (counts[work].get(name) ?? 0) + ns / 1e6);
  }
  const rounded = ([name, ms]) => [name, Math.round(ms * 10) / 10];
  const top = (map) =>
    [...map]
      .sort((a, b) => b[1] - a[1])
      .slice(0, 8)
      .map(rounded);
  return Object.fromEntries(Object.entries(counts).map(([work, map]) => [work, top(map)]));
}

/** Shares in percent of both sides; `null` is what Bobtail did not measure. */
export function compare(samples, { segments, requests, unavailable }) {
  const [firstNs, lastNs] = [samples[0].fromNs, samples.at(-1).fromNs];
  const inside = segments.filter(({ fromNs, untilNs }) => fromNs >= firstNs && untilNs <= lastNs);
  const sums = { gc: 0, jit: 0, ic: 0, native: 0 };
  const missing = new Set();
  for (const { work } of inside) {
    for (const name of CLASSES) {
      if (work[`${name}Ns`] === null) missing.add(name);
      sums[name] += work[`${name}Ns`] ?? 0;
    }
  }
  const totalNs = CLASSES.reduce((sum, name) => sum + sums[name], 0);
  const within = samplesWithin(samples, inside).filter(({ work }) => work !== 'loop');
  const sumMs = (list) => list.reduce((sum, { ns }) => sum + ns, 0) / 1e6;
  const share = (name) => (100 * sumMs(within.filter(({ work }) => work === name))) / sumMs(within);
  const shares = {};
  for (const name of CLASSES) {
    const sampled = share(name) + (name === 'native' ? share('sweep') + share('probe') : 0);
    const bobtail = missing.has(name) ? null : (100 * sums[name]) / totalNs;
    shares[name] = { bobtail, sampled };
  }
  const count = within.filter(({ slept }) => !slept).length;
  return {
    shares,
    samples: count,
    standardErrorPoints: 50 / Math.sqrt(count),
    requests,
    bobtailMs: totalNs / 1e6,
    sampledMs: sumMs(within),
    sleptMs: sumMs(within.filter(({ slept }) => slept)),
    sweepPercent: share('sweep'),
    hiddenPercent: share('hidden'),
    probePercent: share('probe'),
    unavailable,
    functionsMs: decidingFunctions(within),
  };
}

/** Time whose owner the sampler could not see may belong to any class. */
function isWithin({ bobtail, sampled }, hiddenPercent) {
  return bobtail >= sampled - POINTS_MAX && bobtail <= sampled + hiddenPercent + POINTS_MAX;
}

function cell(share, hiddenPercent) {
  const { bobtail, sampled } = share;
  if (bobtail === null) return `– / ${sampled.toFixed(1)}`;
  const mark = isWithin(share, hiddenPercent) ? '' : ' ✗';
  return `${bobtail.toFixed(1)} / ${sampled.toFixed(1)}${mark}`;
}

/** How many shares agree, and how sure that is. */
function verdict(results) {
  const told = results.flatMap(({ shares, hiddenPercent }) =>
    CLASSES.map((name) => ({ share: shares[name], hiddenPercent })),
  );
  const agreeing = told.filter(({ share, hiddenPercent }) => isWithin(share, hiddenPercent));
  const errors = Math.min(...results.map((one) => POINTS_MAX / one.standardErrorPoints));
  const sure = `${POINTS_MAX} points are at least ${errors.toFixed(1)} standard errors`;
  const text = `${agreeing.length} of ${told.length} shares within ${POINTS_MAX} points; ${sure}\n`;
  return { text, agrees: agreeing.length === told.length };
}

/** Markdown: Bobtail's percentage / the sampler's, per class; and whether all agree. */
export function table(results) {
  const lines = [
    '| Node | program | gc | jit | ic | native | hidden | probe | samples (± points) |',
    '|---|---|---|---|---|---|---|---|---|',
  ];
  for (const result of results) {
    const { node, program, shares, samples, hiddenPercent, probePercent } = result;
    const cells = CLASSES.map((name) => cell(shares[name], hiddenPercent));
    const others = `${hiddenPercent.toFixed(1)} | ${probePercent.toFixed(1)}`;
    const count = `${samples} (± ${result.standardErrorPoints.toFixed(1)})`;
    lines.push(`| ${node} | ${program} | ${cells.join(' | ')} | ${others} | ${count} |`);
  }
  const { text, agrees } = verdict(results);
  return { markdown: `${lines.join('\n')}\n\n${text}`, agrees };
}
