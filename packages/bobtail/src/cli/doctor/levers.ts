/**
 * Which levers this host has, what each does and how long it takes, found out by moving it.
 *
 * By a bobtaild of its own, so that a lever goes back even if this process is killed meanwhile.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { BOBTAILD } from '../boost/keeper';
import { endOwnFolder, makeOwnFolder, noteRoot } from '../boost/own-folder';
import type { Colors } from '../console';
import { oneLine } from '../failure';
import { plain } from '../text/plain';
import { formatDuration } from '../text/units';

/** One kind of lever, as bobtaild tells it. */
interface Finding {
  readonly kind: string;
  readonly isAvailable: boolean;
  readonly whyNot: string | null;
  readonly lever: { readonly about: string; readonly transition_ns?: number | null } | null;
  readonly selfTest: { readonly expected: number | null; readonly measured: number | null } | null;
  readonly latency: LeverLatency | null;
}

/** Of the calls that move a lever. */
interface LeverLatency {
  readonly changes: number;
  readonly p50Ns: number;
  readonly p99Ns: number;
  readonly maxNs: number;
}

/** What was found (`levers` of `spec/doctor.schema.json`). */
export interface Levers {
  /** Why nothing was found out; null where it was. */
  readonly reason: string | null;
  /** What `boost --actuator auto` takes. */
  readonly chosen: string | null;
  /** Best first; the imitation last. */
  readonly found: readonly {
    readonly kind: string;
    readonly ok: boolean;
    readonly reason: string | null;
    readonly about: string | null;
    readonly selfTest: Finding['selfTest'];
    readonly latency: LeverLatency | null;
  }[];
  readonly energy: readonly {
    readonly kind: string;
    readonly ok: boolean;
    readonly reason: string | null;
    readonly about: string;
  }[];
}

interface EnergySource {
  readonly kind: string;
  readonly about: string;
  readonly isAvailable: boolean;
  readonly whyNot: string | null;
}

interface Findings {
  readonly levers: readonly Finding[];
  readonly energy: readonly EnergySource[];
  readonly chosen: string | null;
}

const TRIAL_MS_MAX = 120_000;

/** What is to be tried. */
export interface LeverTrial {
  /** A tree of files instead of the machine's settings: its levers are only opened. */
  readonly root?: string;
  /** The imitated frequency too, which slows a CPU for a second. */
  readonly emulated: boolean;
}

/** What was found, and whether all that was moved is back. */
export interface Tried {
  readonly levers: Levers;
  readonly isAllBack: boolean;
}

/** Tries all levers. */
export async function tryLevers({ root, emulated }: LeverTrial): Promise<Tried> {
  const nothing = { chosen: null, found: [], energy: [] };
  if (!existsSync(BOBTAILD)) {
    const reason = `incomplete installation: no ${BOBTAILD}`;
    return { levers: { reason, ...nothing }, isAllBack: true };
  }
  const folder = makeOwnFolder('doctor');
  if (root !== undefined) noteRoot(folder, root);
  const args = ['--examine', folder, ...(root === undefined ? [] : ['--root', root])];
  if (emulated) args.push('--imitate');
  const told = await run(args);
  const levers = typeof told === 'string' ? { reason: told, ...nothing } : describe(told);
  return { levers, isAllBack: await endOwnFolder(folder) };
}

function run(args: readonly string[]): Promise<Findings | string> {
  return new Promise((resolve) => {
    execFile(BOBTAILD, args, { timeout: TRIAL_MS_MAX }, (error, stdout, stderr) => {
      const last = stderr.trim().split('\n').at(-1);
      if (error !== null) resolve(oneLine(last || error.message));
      else resolve(JSON.parse(stdout) as Findings);
    });
  });
}

function describe({ levers, energy, chosen }: Findings): Levers {
  return {
    reason: null,
    chosen,
    found: levers.map(({ kind, isAvailable, whyNot, lever, selfTest, latency }) => ({
      kind,
      ok: isAvailable,
      reason: whyNot,
      about: lever?.about ?? null,
      selfTest,
      latency,
    })),
    energy: energy.map(({ kind, about, isAvailable, whyNot }) => ({
      kind,
      ok: isAvailable,
      reason: whyNot,
      about,
    })),
  };
}

/** Rows of the terminal: what, whether, and why not or how well. */
export function leverRows({ reason, found, energy, chosen }: Levers, colors: Colors): string[][] {
  const yes = colors.green('ok');
  const no = colors.red('no');
  if (reason !== null) return [['  levers', no, plain(reason)]];
  return [
    ...found.map((one) => [
      `  ${plain(one.kind)}`,
      one.ok ? yes : no,
      plain(one.ok ? howWell(one, chosen) : (one.reason ?? '')),
    ]),
    ...energy.map((one) => [
      `  energy ${plain(one.kind)}`,
      one.ok ? yes : no,
      plain(one.reason ?? one.about),
    ]),
  ];
}

function howWell(one: Levers['found'][number], chosen: string | null): string {
  const { selfTest, latency, about } = one;
  const gain = selfTest?.measured;
  return [
    ...(one.kind === chosen ? ['taken by boost'] : []),
    ...(gain == null ? [] : [`${gain.toFixed(2)}× the speed at base`]),
    ...(latency === null
      ? []
      : [`moved in ${formatDuration(latency.p50Ns)} (p99 ${formatDuration(latency.p99Ns)})`]),
    ...(about === null ? [] : [about]),
  ].join(' · ');
}
