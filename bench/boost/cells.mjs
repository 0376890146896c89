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

/** Of several folders `{arms, folder}` by service, which is taken from the last that has it. */
export function cellsInAll(folders) {
  return new Map(
    folders.flatMap((folder) => {
      return [...cellsIn(folder)].map(([service, arms]) => [service, { arms, folder }]);
    }),
  );
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
