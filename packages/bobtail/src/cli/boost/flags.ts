/** The options of `boost`, checked: what may be typed, and what it means. */
import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { DriveOptions } from '../../agent/boost/settings';
import { Failure } from '../failure';
import { PROVE_ROUNDS, parseRounds, parseSpan, SEED_MAX } from '../proof/flags';
import { parseCount } from '../quantity';
import { KHZ_PER_GHZ } from './held-frequency';
import type { LeverWish } from './lever';
import { parseEndpoint } from './metrics/otlp';
import { parseAddress } from './metrics/prometheus';
import type { Listeners } from './metrics/telling';
import type { ProveRequest } from './prove';

const CPUS_MAX = 1024;
const CPUS = '/sys/devices/system/cpu';
const LATENCY_NS_MAX = 1e9;

/** As commander gives them. */
export interface DriveFlags {
  readonly policy: string;
  readonly actuator: string;
  readonly frequencies?: string;
  readonly latency?: string;
  readonly cpu?: string;
  readonly budget: string;
  readonly bobtaild?: string;
  readonly leverRoot?: string;
}

/** What `--actuator` takes. */
export const ACTUATORS = [
  'auto',
  'cpufreq',
  'intel-pstate',
  'amd-pstate',
  'uclamp',
  'quota',
  'burst',
  'bobtaild',
  'emulated',
  'cpufreq-userspace',
  'cpufreq-min-max',
  'intel-min-perf',
  'energy-preference',
] as const;

/** They move no frequency that could be told. */
const WITHOUT_FREQUENCIES: ReadonlySet<string> = new Set([
  'intel-pstate',
  'intel-min-perf',
  'energy-preference',
  'uclamp',
  'quota',
  'burst',
]);

/** Which lever, and who has it. Throws a `Failure`. */
export function parseLever({ actuator, bobtaild, leverRoot }: DriveFlags): LeverWish {
  if (actuator === 'emulated' && bobtaild !== undefined) {
    throw new Failure('usage', '--bobtaild has no emulated frequency', bobtaild);
  }
  if (actuator === 'emulated' && leverRoot !== undefined) {
    throw new Failure('usage', '--lever-root goes with levers that are files', leverRoot);
  }
  return {
    actuator,
    ...(bobtaild === undefined ? {} : { socket: resolve(bobtaild) }),
    ...(leverRoot === undefined ? {} : { root: resolve(leverRoot) }),
  };
}

/** What the driver is told. Throws a `Failure`. */
export function parseDrive(flags: DriveFlags): DriveOptions {
  const { policy, actuator, frequencies, latency, cpu, budget } = flags;
  requireApplicable(flags);
  return {
    policy,
    actuator,
    ...(frequencies === undefined ? {} : parseFrequencies(frequencies, actuator)),
    ...(latency === undefined ? {} : { latencyNs: parseLatency(latency) }),
    ...(cpu === undefined ? {} : { cpu: parseCpu(cpu) }),
    ...parseBudget(budget),
  };
}

/** An option that would change nothing is refused: who typed it believes it does. */
function requireApplicable({ actuator, frequencies, latency, cpu, bobtaild }: DriveFlags): void {
  for (const [name, value] of Object.entries({ latency, cpu })) {
    if (value !== undefined && actuator !== 'emulated') {
      throw new Failure('usage', `--${name} goes with --actuator emulated`, value);
    }
  }
  if (frequencies === undefined) return;
  if (WITHOUT_FREQUENCIES.has(actuator)) {
    throw new Failure(
      'usage',
      `--frequencies does not go with --actuator ${actuator}`,
      frequencies,
    );
  }
  if (actuator === 'bobtaild' || bobtaild !== undefined) {
    const what = '--frequencies does not go with a bobtaild, whose configuration has them';
    throw new Failure('usage', what, frequencies);
  }
}

/** Who is told metrics. Throws a `Failure`. */
export function parseListeners(flags: { metrics?: string; otlp?: string }): Listeners {
  const { metrics, otlp } = flags;
  return {
    ...(metrics === undefined ? {} : { metrics: parseAddress(metrics, '--metrics') }),
    ...(otlp === undefined ? {} : { otlp: parseEndpoint(otlp, '--otlp') }),
  };
}

/** What is typed for a proof. */
export interface ProveFlags {
  readonly prove: boolean;
  readonly onPort?: string;
  readonly rounds?: string;
  readonly warmup?: string;
  readonly duration?: string;
  readonly seed?: string;
  readonly json?: boolean;
  readonly metrics?: string;
  readonly otlp?: string;
  readonly out?: string;
  readonly quiet: boolean;
}

/** What is proved; undefined when nothing is. Throws a `Failure`. */
export function parseProve(
  command: readonly string[],
  drive: DriveOptions,
  lever: LeverWish,
  flags: ProveFlags,
): ProveRequest | undefined {
  const { prove, onPort, rounds, warmup, duration, seed, json, quiet } = flags;
  if (!prove) {
    const [name] = Object.entries({ onPort, rounds, warmup, duration, seed, json })
      .filter(([, value]) => value !== undefined)
      .map(([option]) => option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`));
    if (name !== undefined) throw new Failure('usage', 'this goes with --prove only', `--${name}`);
    return undefined;
  }
  const { metrics, otlp, out } = flags;
  const [other] =
    Object.entries({ metrics, otlp, out }).find(([, value]) => value !== undefined) ?? [];
  if (other !== undefined) {
    throw new Failure('usage', 'this does not go with --prove: its answer is --json', `--${other}`);
  }
  if (onPort === undefined || onPort.trim() === '') {
    throw new Failure('usage', '--prove needs a load: --on-port <command>');
  }
  return {
    subject: { command, onPort, ...parseSpan(warmup, duration) },
    drive,
    lever,
    rounds: parseRounds(rounds ?? String(PROVE_ROUNDS), '--rounds'),
    seed: seed === undefined ? randomInt(1, SEED_MAX) : parseCount(seed, '--seed'),
    format: json ? 'json' : 'text',
    quiet,
  };
}

/** The peak of an imitation is the machine's full speed: nothing can be imitated beyond it. */
function parseFrequencies(
  text: string,
  actuator: string,
): Pick<DriveOptions, 'baseKhz' | 'peakKhz' | 'fullKhz'> {
  const match = /^(\d+(?:\.\d+)?),(\d+(?:\.\d+)?)$/.exec(text);
  const [baseKhz = 0, peakKhz = 0] = (match ?? [])
    .slice(1)
    .map((ghz) => Math.round(Number(ghz) * KHZ_PER_GHZ));
  if (match === null || baseKhz <= 0 || baseKhz >= peakKhz) {
    const what = '--frequencies takes two in GHz, the lower first, such as 2.6,4';
    throw new Failure('usage', what, text);
  }
  return { baseKhz, peakKhz, ...(actuator === 'emulated' ? { fullKhz: peakKhz } : {}) };
}

/** As `whatif` takes it. */
function parseLatency(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ns|us|ms|s)$/.exec(text);
  const unitNs = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 }[match?.[2] ?? ''] ?? Number.NaN;
  const latencyNs = Math.round(Number(match?.[1]) * unitNs);
  if (!(latencyNs <= LATENCY_NS_MAX)) {
    throw new Failure('usage', '--latency takes a duration from 0ns to 1s, such as 500us', text);
  }
  return latencyNs;
}

/** Per cent of the busy time; `none` is no bound. */
function parseBudget(text: string): Pick<DriveOptions, 'budget'> {
  const percent = Number(/^(\d+(?:\.\d+)?)%?$/.exec(text)?.[1]);
  if (text === 'none') {
    return {};
  }
  if (!(percent > 0 && percent <= 100)) {
    throw new Failure('usage', '--budget takes per cent from above 0 to 100, or none', text);
  }
  return { budget: percent / 100 };
}

function parseCpu(text: string): number {
  const cpu = Number(text);
  if (!/^\d+$/.test(text) || cpu >= CPUS_MAX) {
    throw new Failure('usage', '--cpu takes the number of a CPU', text);
  }
  if (existsSync(CPUS) && !existsSync(join(CPUS, `cpu${cpu}`))) {
    throw new Failure('usage', '--cpu: this machine has no such CPU', text);
  }
  return cpu;
}
