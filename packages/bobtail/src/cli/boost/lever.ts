/**
 * Finds the lever of a boost: this command's own where it has the rights, else bobtaild's.
 *
 * None is an answer: the service runs then as it would, and is told why in one line.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DriveOptions } from '../../agent/boost/settings';
import { heldKhz } from './held-frequency';
import { askDaemon, type Chosen, Keeper, reasonsOf } from './keeper';
import { makeAgain, noteRoot } from './own-folder';

/** Where the bobtaild of a machine listens unless it is told otherwise. */
export const SOCKET = '/run/bobtail/bobtaild.sock';
const WITH_FREQUENCIES = new Set(['cpufreq-userspace', 'cpufreq-min-max', 'emulated']);

/** What the user asked for. */
export interface LeverWish {
  /** `auto`, `emulated`, `bobtaild`, or the word of a lever or of a family of them. */
  readonly actuator: string;
  /** Only through the bobtaild that listens there. */
  readonly socket?: string;
  /** A tree of files instead of the machine's settings, for trying out. */
  readonly root?: string;
}

/** A lever, or why there is none. */
export type Lever =
  | {
      readonly drive: DriveOptions;
      readonly about: string;
      /** Of several that were possible. */
      readonly isFound: boolean;
      readonly keeper?: Keeper;
    }
  | { readonly refused: string };

/** Finds it. `folder` is the command's own; `machineSocket` is for tests. */
export async function findLever(
  wish: LeverWish,
  drive: DriveOptions,
  folder: string,
  machineSocket = SOCKET,
): Promise<Lever> {
  const ownCpus = allowedCpus();
  const base = { ...drive, ...(ownCpus === undefined ? {} : { ownCpus }) };
  if (wish.actuator === 'emulated') return imitate(base, folder);
  const word = wish.actuator === 'bobtaild' ? 'auto' : wish.actuator;
  const isRemote = wish.socket !== undefined || wish.actuator === 'bobtaild';
  const reasons: string[] = [];
  if (!isRemote) {
    const answer = await startKeeper(folder, keeperArgs(word, drive, wish.root), wish);
    const { chosen, keeper, whyNot } = choiceOf(answer);
    if (chosen !== undefined) {
      const refused = lacksFrequencies(chosen, drive);
      if (refused === undefined) {
        return found(chosen, base, join(folder, 'bobtaild.sock'), whyNot, keeper);
      }
      await keeper?.end();
      return { refused };
    }
    reasons.push(...whyNot);
  }
  const socket = wish.socket ?? machineSocket;
  if (isRemote || existsSync(socket)) {
    makeAgain(folder);
    const { chosen, whyNot } = choiceOf(await askDaemon(socket, ['--lever', word], folder));
    if (chosen !== undefined) {
      const refused = lacksFrequencies(chosen, drive);
      return refused === undefined ? found(chosen, base, socket, whyNot) : { refused };
    }
    reasons.push(ofBobtaild(whyNot.join('; ')));
  }
  const what = word === 'auto' ? 'no lever on this host' : `no lever ${word} on this host`;
  return { refused: `${what} (${reasons.join('; ')})` };
}

/** A reason of the machine's bobtaild; one of its own lines begins with its name. */
function ofBobtaild(reason: string): string {
  const plain = reason.replace(/^bobtaild: /, '');
  return plain.startsWith('bobtaild ') ? plain : `bobtaild: ${plain}`;
}

/**
 * A policy that asks for a frequency needs a lever that has some: each change would be refused, and
 * the service run as if it were boosted. Which lever a host has is nothing that a service should
 * not start for.
 */
function lacksFrequencies({ chosen }: Chosen, { policy }: DriveOptions): string | undefined {
  if (heldKhz(policy) === undefined || WITH_FREQUENCIES.has(chosen ?? '')) return undefined;
  return `${policy}: the lever ${chosen} has no frequencies, it takes static:base and static:peak`;
}

function startKeeper(
  folder: string,
  args: readonly string[],
  { root }: LeverWish,
): Promise<Keeper | string> {
  makeAgain(folder);
  if (root !== undefined) noteRoot(folder, root);
  return Keeper.start(folder, args);
}

/** What a bobtaild chose of a word, whether that is our own, and why nothing better. */
interface Choice {
  readonly chosen?: Chosen;
  readonly keeper?: Keeper;
  readonly whyNot: readonly string[];
}

function choiceOf(answer: Keeper | Chosen | string): Choice {
  if (typeof answer === 'string') return { whyNot: [answer] };
  const [chosen, keeper] =
    answer instanceof Keeper ? [answer.chosen, { keeper: answer }] : [answer, {}];
  const others = reasonsOf(chosen);
  const whyNot = others === '' ? [] : [others];
  return chosen.chosen === null ? { whyNot } : { chosen, whyNot, ...keeper };
}

/** The own bobtaild is for processes that share the imitation, and lets go when this one ends. */
async function imitate(drive: DriveOptions, folder: string): Promise<Lever> {
  const known = { about: 'emulated', isFound: false };
  const keeper = await Keeper.start(folder, imitationArgs(drive));
  if (typeof keeper === 'string') {
    const about = `lever emulated, of each process by itself (no bobtaild: ${keeper})`;
    return { drive, about, isFound: true };
  }
  if (keeper.chosen.chosen === null) return { refused: reasonsOf(keeper.chosen) };
  return { drive: { ...drive, socket: join(folder, 'bobtaild.sock') }, ...known, keeper };
}

function found(
  chosen: Chosen,
  drive: DriveOptions,
  socket: string,
  whyNot: readonly string[],
  keeper?: Keeper,
): Lever {
  const kind = chosen.chosen ?? '';
  const isOwn = keeper !== undefined;
  const whys = [...whyNot, ...unusedFrequencies(kind, drive, isOwn)];
  const others = whys.length === 0 ? '' : ` (${whys.join('; ')})`;
  const about = `lever ${kind}: ${chosen.about ?? ''}${others}`;
  const own = keeper === undefined ? {} : { keeper };
  return { drive: { ...drive, actuator: kind, socket }, about, isFound: true, ...own };
}

/** Why they change nothing, where `auto` came to a lever that does not take them. */
function unusedFrequencies(kind: string, { baseKhz }: DriveOptions, isOwn: boolean): string[] {
  if (baseKhz === undefined) return [];
  const sentence = '--frequencies changes nothing:';
  if (!isOwn) return [`${sentence} those of a bobtaild are in its configuration`];
  return WITH_FREQUENCIES.has(kind) ? [] : [`${sentence} ${kind} has none`];
}

function keeperArgs(word: string, drive: DriveOptions, root: string | undefined): string[] {
  const { baseKhz, peakKhz } = drive;
  return [
    '--lever',
    word,
    ...(baseKhz === undefined ? [] : ['--base', String(baseKhz)]),
    ...(peakKhz === undefined ? [] : ['--peak', String(peakKhz)]),
    ...(root === undefined ? [] : ['--root', root]),
  ];
}

function imitationArgs({ baseKhz, peakKhz, fullKhz, latencyNs, cpu }: DriveOptions): string[] {
  const numbers = { base: baseKhz, peak: peakKhz, 'full-khz': fullKhz, 'latency-ns': latencyNs };
  const told = Object.entries(numbers).filter(([, value]) => value !== undefined);
  const cpus = cpu === undefined ? allowedCpus() : String(cpu);
  return [
    ...told.flatMap(([name, value]) => [`--${name}`, String(value)]),
    ...(cpus === undefined ? [] : ['--cpus', cpus]),
  ];
}

/** CPUs on which this process may run, such as `0-3`. */
function allowedCpus(): string | undefined {
  try {
    const status = readFileSync('/proc/self/status', 'utf8');
    return /^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1];
  } catch {
    // No such file: then the driver runs where the service does.
    return undefined;
  }
}
