/**
 * How the heap of this thread was set up: what a finding about collections has to start from.
 *
 * Read once, when the recording starts. V8 does not tell the bound of a semi-space, whose default
 * differs from version to version and with the memory of the machine; but the limit it tells is the
 * old space's bound and three semi-spaces, so where the former is known, so is the latter.
 */

import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { isMainThread, resourceLimits } from 'node:worker_threads';

const BYTES_PER_MB = 2 ** 20;
const SEMI_SPACE_MIN_BYTES = 2 ** 19;
/** What V8 lets the old space grow to on 64 bits however much memory there is, by its amount. */
const OLD_SPACE_CAPS_MB = [2048, 4096];
/** Without a flag the old space gets half of the memory up to that. */
const OLD_SPACE_SHARE = 0.5;
/** Flags that size the heap, or decide when, how and by how many garbage is collected. */
const FLAGS = [
  '(?:max|min)-semi-space-size',
  'semi-space-growth-factor',
  'max-old-space-size(?:-percentage)?',
  'initial-old-space-size',
  '(?:max|initial)-heap-size',
  'huge-max-old-generation-size',
  'scavenger-max-new-space-capacity-mb',
  'optimize-for-size',
  'lite-mode',
  'jitless',
  'expose-gc',
  'gc-(?:global|interval)',
  'single-threaded(?:-gc)?',
  'v8-pool-size',
  'minor-m[cs]',
  '(?:concurrent|parallel|incremental)-(?:marking|scavenge|sweeping|compaction)',
  'memory-reducer',
  'separate-gc-phases',
];
const FLAG = new RegExp(`^--(?:no-?)?(?:${FLAGS.join('|')})(?:=|$)`);

/** Facts of one thread's heap. */
export interface HeapFacts {
  /** What V8 lets the heap grow to. */
  heapSizeLimitBytes: number;
  /** The bound of a semi-space that is in force; null where it is not known. */
  semiSpaceBytes: number | null;
  /** Memory the container may use; null without a bound. */
  memoryLimitBytes: number | null;
  /** Options given to this Node that matter, as given, the later the stronger. */
  flags: string[];
}

/** Reads the facts of this thread. */
export function readHeapFacts(): HeapFacts {
  const options = [...splitOptions(process.env.NODE_OPTIONS ?? ''), ...process.execArgv];
  const flags = heapFlags(options);
  const limitBytes = getHeapStatistics().heap_size_limit;
  return {
    heapSizeLimitBytes: limitBytes,
    semiSpaceBytes: semiSpaceBytes(limitBytes, flags),
    memoryLimitBytes: memoryLimitBytes(),
    flags,
  };
}

/** Of the options, those about the heap; a value that follows as a word of its own is joined. */
export function heapFlags(options: readonly string[]): string[] {
  const flags: string[] = [];
  options.forEach((option, index) => {
    // V8 takes underscores, too.
    const name = option.replace(/_/g, '-');
    if (!FLAG.test(name)) return;
    const value = options[index + 1] ?? '';
    const isSeparate = !option.includes('=') && /^\d+$/.test(value);
    flags.push(isSeparate ? `${option}=${value}` : option);
  });
  return flags;
}

/**
 * V8's limit is the old space and three semi-spaces (two, and large objects as large as one), each
 * a power of two: what is none was not the old space.
 */
function semiSpaceBytes(limitBytes: number, flags: readonly string[]): number | null {
  const sizes = oldSpacesMb(flags).map((oldMb) => (limitBytes - oldMb * BYTES_PER_MB) / 3);
  const inForce = sizes.find((size) => size >= SEMI_SPACE_MIN_BYTES && isPowerOfTwo(size));
  const flagged = lastValue(flags, /^--max[-_]semi[-_]space[-_]size=(\d+)$/);
  return inForce ?? (flagged === undefined ? null : flagged * BYTES_PER_MB);
}

/** What the old space may be bounded by here, in MB. */
function oldSpacesMb(flags: readonly string[]): number[] {
  const flagged = lastValue(flags, /^--max[-_]old[-_]space[-_]size=(\d+)$/);
  if (flagged !== undefined) return [flagged];
  // These bound it by something else.
  if (flags.some((flag) => /max[-_](?:heap[-_]size|old[-_]space)/.test(flag))) return [];
  if (!isMainThread) return [resourceLimits.maxOldGenerationSizeMb ?? 0];
  const memoryMb = Math.min(totalmem(), memoryLimitBytes() ?? totalmem()) / BYTES_PER_MB;
  return OLD_SPACE_CAPS_MB.filter((capMb) => memoryMb * OLD_SPACE_SHARE >= capMb);
}

function lastValue(flags: readonly string[], pattern: RegExp): number | undefined {
  const values = flags.map((flag) => pattern.exec(flag)?.[1]);
  const last = values.filter((value) => value !== undefined).at(-1);
  return last === undefined ? undefined : Number(last);
}

function isPowerOfTwo(size: number): boolean {
  return Number.isInteger(Math.log2(size));
}

/** As Node splits the variable: at spaces, double quotes keep together, backslash escapes there. */
export function splitOptions(text: string): string[] {
  const words = text.match(/(?:"(?:\\.|[^"\\])*"|[^\s"])+/g) ?? [];
  return words.map((word) =>
    word.replace(/"((?:\\.|[^"\\])*)"/g, (_, inner: string) => inner.replace(/\\(.)/g, '$1')),
  );
}

function memoryLimitBytes(): number | null {
  const limit = process.constrainedMemory?.() ?? 0;
  // Without a bound it is 0, or a number beyond all memory.
  return limit > 0 && limit < totalmem() ? limit : null;
}
