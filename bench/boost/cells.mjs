// The cells that `run.mjs` has written so far.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LatencyHistogram } from '../harness/latency-histogram.mjs';
import { mean } from '../harness/statistics.mjs';
import { BASE } from './arms.mjs';

/** By service (with `-cluster`) and arm, in the order of rounds. */
export function cellsIn(folder) {
  const services = new Map();
  for (const name of readdirSync(join(folder, 'rounds'))) {
    const [, service, round] = /^(.*)-(\d+)\.jsonl$/.exec(name);
    const arms = services.get(service) ?? new Map();
    services.set(service, arms);
    const lines = readFileSync(join(folder, 'rounds', name), 'utf8')
      .trim()
      .split('\n');
    for (const line of lines) {
      const cell = JSON.parse(line);
      arms.set(cell.arm, [...(arms.get(cell.arm) ?? []), { ...cell, round: Number(round) }]);
    }
  }
  return services;
}

/** Of several folders `{arms, folders}` by service, which is taken from the last that has it. */
export function cellsInAll(folders) {
  return new Map(
    folders.flatMap((folder) => {
      return [...cellsIn(folder)].map(([service, arms]) => [service, { arms, folders: [folder] }]);
    }),
  );
}

/**
 * The same of all rounds of all folders, as of one run that was made in parts. Throws where they
 * were made otherwise than each other, or two have the same round: its number is its seed.
 */
export function cellsTogether(folders) {
  const all = folders.map(settingsOf);
  for (const [at, one] of all.entries()) {
    const unlike = all.slice(0, at).findIndex((other) => !areAlike(one, other));
    if (unlike !== -1) throw new Error(`${folders[at]} has other settings than ${folders[unlike]}`);
  }
  const services = new Map();
  for (const [service, arms] of folders.flatMap((folder) => [...cellsIn(folder)])) {
    const { arms: all } = services.get(service) ?? { arms: new Map() };
    services.set(service, { arms: all, folders });
    for (const [arm, cells] of arms) {
      const before = all.get(arm) ?? [];
      const twice = cells.find(({ round }) => before.some((one) => one.round === round));
      if (twice !== undefined) {
        throw new Error(`two folders have round ${twice.round} of ${service}`);
      }
      all.set(arm, [...before, ...cells]);
    }
  }
  return services;
}

/** How rounds were made, but for when and where; of each service the flags of its tuned arms. */
function settingsOf(folder) {
  const about = JSON.parse(readFileSync(join(folder, 'about.json'), 'utf8'));
  const { host: _, tuned, ...settings } = about;
  return { tuned, settings: JSON.stringify(settings) };
}

/** Whether rounds were made alike, of the services that both have. */
function areAlike(one, other) {
  const both = Object.keys(one.tuned).filter((service) => other.tuned[service] !== undefined);
  const isTunedAlike = both.every((service) => one.tuned[service] === other.tuned[service]);
  return one.settings === other.settings && isTunedAlike;
}

/** Latencies of all these cells together. */
export function pooled(cells) {
  return LatencyHistogram.fromText(cells.map(({ latencies }) => latencies).join(' '));
}

/** By the paper's points; a static speed has them itself. */
export function energyOf({ arm, energy }) {
  const fixed = { 'static-3.3': 1.676, 'static-4.0': 2.712 }[arm];
  return fixed ?? energy.relativeToBase;
}

/** A figure of an arm of `cellsIn`, as the mean of its rounds. Throws where it has not run. */
export function liveMean(services, { service, arm = BASE, figure }) {
  const cells = services.get(service)?.get(arm);
  if (cells === undefined) throw new Error(`no live ${arm} of ${service}: run run.mjs first`);
  return mean(cells.map((cell) => cell[figure]));
}
