/**
 * Which flags are tried: pure, from the budget, what the service uses and what its Node has.
 *
 * First single changes far apart, then what lies around the best and its combinations with others
 * that were better than nothing; a full grid of two sizes alone would be some 40 arms.
 */
import { type FlagArm, flagArm } from './flag-arm';
import { flagName, type NodeFlags } from './node-flags';

/** What decides which flags make sense. */
export interface Surroundings {
  readonly budgetBytes: number;
  /** Peak resident memory of the unchanged service. */
  readonly usedBytes: number;
  readonly flags: NodeFlags;
  /** The command is node itself, so that any flag can be given. */
  readonly direct: boolean;
  readonly cpus: number;
}

const BYTES_PER_MIB = 2 ** 20;
const SEMI_SPACE_MIN_MIB = 1;
/** Four times apart: gains are smooth in the logarithm of the size. */
const SEMI_SPACES_MIB = [SEMI_SPACE_MIN_MIB, 4, 16, 64, 256];
/** V8's young generation is two semi-spaces and as much again for large new objects. */
const SEMI_SPACES_IN_YOUNG = 3;
const YOUNG_SHARE_MAX = 0.5;
/** What Node's own documentation leaves for the stack, buffers and native memory. */
const OLD_SHARE_MAX = 0.75;
const OLD_MIB_MIN = 32;
/** Semi-space that is large from the start, instead of growing by factors of two. */
const FIXED_SEMI_MIB = 16;
/** With more CPUs the threads that help to collect and to compile have one to run on. */
const FEW_CPUS = 2;
const COMBINED_MAX = 4;
/**
 * V8 makes nothing old from birth. Of a small young generation a hundred survivors are rare, so
 * what it decides by them is chance, and lasts (docs/design/tuning.md).
 */
const NONE_OLD_FROM_BIRTH = '--no-allocation-site-pretenuring';

/** Single changes, each a reason of its own (docs/design/tuning.md). */
export function singleChanges(here: Surroundings): FlagArm[] {
  const fixed = [`--min-semi-space-size=${FIXED_SEMI_MIB}`, semiSpace(FIXED_SEMI_MIB)];
  const wanted = [
    ...SEMI_SPACES_MIB.map((mib) => [semiSpace(mib)]),
    [semiSpace(SEMI_SPACE_MIN_MIB), NONE_OLD_FROM_BIRTH],
    [NONE_OLD_FROM_BIRTH],
    fixed,
    ...oldSpacesMib(here).map((mib) => [`--max-old-space-size=${mib}`]),
    [`--initial-old-space-size=${oldSpaceMaxMib(here)}`],
    ...(here.cpus <= FEW_CPUS ? [['--single-threaded-gc'], ['--v8-pool-size=1']] : []),
    ['--optimize-for-size'],
  ];
  return wanted.filter((flags) => fits(flags, here)).map(flagArm);
}

/** What was found of an arm: below 1 is better than the unchanged service. */
export interface Found {
  readonly arm: FlagArm;
  readonly ratio: number;
}

/** The best arm, what lies around it, and it together with others that were better than nothing. */
export function combinedChanges(found: readonly Found[], here: Surroundings): FlagArm[] {
  const [best, ...others] = [...found].sort((a, b) => a.ratio - b.ratio);
  if (best === undefined) return [];
  const near = sizeOf(best.arm.flags);
  const around =
    near === undefined
      ? []
      : [near / 2, near * 2].map((mib) => replaced(best.arm.flags, semiSpace(mib)));
  const together = others
    .filter(({ arm }) => arm.flags.every((flag) => !hasName(best.arm.flags, flag)))
    .map(({ arm }) => [...best.arm.flags, ...arm.flags])
    .filter((flags) => !found.some(({ arm }) => isSame(arm.flags, flags)));
  const wanted = [...around, ...together].filter((flags) => fits(flags, here));
  return [best.arm.flags, ...wanted.slice(0, COMBINED_MAX)].map(flagArm);
}

function semiSpace(mib: number): string {
  return `--max-semi-space-size=${mib}`;
}

/** Close to what the service uses, and what the budget allows: the paper's "moderately large". */
function oldSpacesMib(here: Surroundings): number[] {
  const most = oldSpaceMaxMib(here);
  const tight = Math.max(OLD_MIB_MIN, Math.ceil(here.usedBytes / BYTES_PER_MIB));
  return tight < most ? [tight, most] : [most];
}

function oldSpaceMaxMib(here: Surroundings): number {
  return Math.max(OLD_MIB_MIN, Math.floor((here.budgetBytes * OLD_SHARE_MAX) / BYTES_PER_MIB));
}

/** This Node has the flags, they can be given, and the young generation leaves room for more. */
function fits(flags: readonly string[], here: Surroundings): boolean {
  const names = flags.map(flagName);
  const { v8, inNodeOptions } = here.flags;
  const known = names.every((name) => inNodeOptions.has(name) || (here.direct && v8.has(name)));
  const semiMib = sizeOf(flags) ?? 0;
  const youngBytes = semiMib * SEMI_SPACES_IN_YOUNG * BYTES_PER_MIB;
  const whole = semiMib === 0 || semiMib >= 1;
  return known && whole && youngBytes <= here.budgetBytes * YOUNG_SHARE_MAX;
}

function sizeOf(flags: readonly string[]): number | undefined {
  const flag = flags.find((one) => flagName(one) === 'max-semi-space-size');
  return flag === undefined ? undefined : Number(flag.split('=')[1]);
}

/** A smaller bound than what is there from the start would be raised to it, so that goes along. */
function replaced(flags: readonly string[], flag: string): string[] {
  const value = flag.split('=')[1];
  return flags.map((one) => {
    if (hasName([one], flag)) return flag;
    return flagName(one) === 'min-semi-space-size' ? `--min-semi-space-size=${value}` : one;
  });
}

/** The same flags, in whichever order. */
function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((flag) => others.includes(flag));
}

function hasName(flags: readonly string[], flag: string): boolean {
  return flags.some((one) => flagName(one) === flagName(flag));
}
