/** What was tuned as the answer that is printed and documented: pure. */

import type { Comparison } from '../../prove/prove';
import { percentilesNs, type Sample } from '../../prove/sample';
import type { Objective } from '../../prove/verdict';
import { isNode, withFlags } from '../../tune/flag-arm';
import { paretoSet } from '../../tune/pareto';
import type { RacedArm } from '../../tune/search';
import type { Tuned, TuneOptions } from '../../tune/tune';
import type { ParetoArm, TuneAnswer, TunedArm, TunedRound } from '../json/tune';

/** Throughput is told apart by a fiftieth. */
const THROUGHPUT_STEPS = 50;
const MODEL = 'CPU time per request, at one fixed frequency';

/** The answer. */
export function answerOf(tuned: Tuned, options: Omit<TuneOptions, 'progress'>): TuneAnswer {
  const { subject, budget, seed, objective } = options;
  const { calibration } = tuned;
  return {
    schema: 'bobtail-tune/1',
    command: subject.command,
    onPort: subject.onPort,
    interrupted: tuned.interrupted,
    unchanged:
      calibration === undefined
        ? null
        : {
            node: calibration.version,
            execPath: calibration.node,
            requests: calibration.sample.requests,
            peakRssBytes: calibration.sample.peakRssBytes,
            percentile: calibration.percentile,
          },
    memory: budget,
    energy: { source: 'modelled', model: MODEL },
    objective,
    seed,
    races: tuned.stages.map(({ name, arms }) => ({
      name,
      arms: arms.map((arm) => ({ ...tunedArm(arm), ratios: arm.ratios })),
    })),
    pareto: paretoOf(tuned),
    proof: proofOf(tuned, objective),
    recommendation: recommend(tuned, subject.command),
  };
}

/** Over both races; of an arm that ran in both, the second, which has the better rivals. */
function paretoOf({ stages }: Tuned): ParetoArm[] {
  const arms = new Map<string, ParetoArm & { costs: number[] }>();
  for (const one of stages.flatMap((stage) => stage.arms)) {
    const isUnchanged = one.flags.length === 0 && one.name === 'unchanged';
    if (one.ratios === null || one.peakRssBytes === null || isLost(one)) continue;
    if (one.flags.length === 0 && !isUnchanged) continue;
    const { name, flags, ratios, peakRssBytes } = one;
    // Under an open load throughput differs by noise alone, until a service cannot keep up.
    const throughput = Math.round(ratios.throughput * THROUGHPUT_STEPS) / THROUGHPUT_STEPS;
    const costs = [ratios.tail, ratios.cpu, ratios.memory, 1 / throughput];
    const rounds = one.samples.length;
    const energy = ratios.cpu;
    arms.set(name, { name, flags, ...ratios, energy, peakRssBytes, rounds, costs });
  }
  return paretoSet([...arms.values()]).map(({ costs: _, ...arm }) => arm);
}

/** An arm that lost the race for the tail may still be the one with least memory. */
function isLost({ out }: RacedArm): boolean {
  return out !== undefined && out.of !== 'race';
}

function proofOf({ proof, choice }: Tuned, objective: Objective): TuneAnswer['proof'] {
  if (proof === undefined || choice === undefined) return null;
  const { verdict, reason, percentile, rounds, effect, control, records } = proof;
  const arms = records.map(({ arm, samples, out, failedRounds }) => {
    const flags = arm.name === choice.name ? choice.flags : [];
    const told = tunedArm({ name: arm.name, flags, samples, out });
    return { ...told, failedRounds: failedRounds.length };
  });
  const { flags } = choice;
  const figures = { effect: withoutDiff(effect), control: withoutDiff(control) };
  return { flags, objective, verdict, reason, percentile, rounds, ...figures, arms };
}

/** What is told of a comparison. */
export function withoutDiff(comparison: Comparison | null): Comparison | null {
  if (comparison === null) return null;
  const { percentiles, cpuNsPerRequest, requestsPerS, peakRssBytes } = comparison;
  return { percentiles, cpuNsPerRequest, requestsPerS, peakRssBytes };
}

function recommend(
  { proof, choice, inNodeOptions }: Tuned,
  command: readonly string[],
): TuneAnswer['recommendation'] {
  if (proof?.verdict !== 'helped' || choice === undefined) return null;
  const { flags } = choice;
  return {
    flags,
    nodeOptions: inNodeOptions ? flags.join(' ') : null,
    command: isNode(command) ? withFlags({ command, env: {} }, flags).command : null,
  };
}

function tunedArm(arm: Pick<RacedArm, 'name' | 'flags' | 'samples' | 'out'>): TunedArm {
  const { name, flags, samples, out } = arm;
  return { name, flags, out: out ?? null, rounds: samples.map(tunedRound) };
}

function tunedRound(sample: Sample): TunedRound {
  const { latencies, requests, cpuNsPerRequest, requestsPerS, peakRssBytes } = sample;
  return {
    requests,
    percentilesNs: percentilesNs(latencies, requests),
    cpuNsPerRequest: Math.round(cpuNsPerRequest),
    requestsPerS,
    peakRssBytes,
    gc: sample.collections,
  };
}
