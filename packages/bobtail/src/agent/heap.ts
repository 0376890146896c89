/**
 * How the heap of this thread was set up: what a finding about collections has to start from.
 *
 * Read once, when the recording starts; what the flags do not say stays unknown, because V8's
 * defaults differ from version to version and with the memory of the machine.
 */

import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

const BYTES_PER_MB = 2 ** 20;
/** Flags that size the heap, or decide when and how garbage is collected. */
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
  /** The bound of a semi-space that a flag sets; null without one. */
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
  return {
    heapSizeLimitBytes: getHeapStatistics().heap_size_limit,
    semiSpaceBytes: semiSpaceBytes(flags),
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

function semiSpaceBytes(flags: readonly string[]): number | null {
  const values = flags.map((flag) => /^--max[-_]semi[-_]space[-_]size=(\d+)$/.exec(flag)?.[1]);
  const last = values.filter((value) => value !== undefined).at(-1);
  return last === undefined ? null : Number(last) * BYTES_PER_MB;
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
