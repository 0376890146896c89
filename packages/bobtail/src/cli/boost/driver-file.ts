/** What boosted processes tell the command line, in a folder of files that are each one's own. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FILES } from '../../agent/boost/told';
import { hasCode } from '../failure';

/** A lever under a policy. */
export interface Driven {
  /** With all its settings. */
  readonly policy: string;
  readonly lever: string;
  readonly about: string;
  readonly isEmulated: boolean;
  /** Values of the lever without and with a boost, in its own unit. */
  readonly base: number;
  readonly peak: number;
}

/** What the driver did. */
export interface DriverCounters {
  readonly looks: number;
  /** CPU time of the looks, with waking up for them. */
  readonly lookingNs: number;
  readonly boosts: number;
  readonly boostedNs: number;
  /** Boosts by why they began; one may have several reasons. */
  readonly forCollection: number;
  readonly forQueueLength: number;
  readonly forHead: number;
  readonly forLongTurn: number;
  /** Changes the lever refused. */
  readonly refused: number;
  /** For how long it had no lever, or one that refused it. */
  readonly lostNs: number;
}

/** Whether the driver has its lever. */
export interface Hold {
  /** Why it was lost last; null where it never was. */
  readonly lost: string | null;
  readonly isLost: boolean;
}

/** Of one process, or of several that have ended. */
interface Teller {
  /** Its own among all of a folder: a number of a process is used again. */
  readonly key: string;
  readonly pid: number;
  /** Where that number is its own (`/proc/self/ns/pid`); empty where that is not known. */
  readonly namespace: string;
  /** What could not be sensed or counted there, each with the reason. */
  readonly missing: readonly string[];
  /** How many this is of; one where it does not say. */
  readonly processes?: number;
}

/** Of one that is not boosted. */
export interface Refused extends Teller {
  readonly refused: string;
}

/** Of one that drives. */
export interface Driving extends Teller {
  readonly driven: Driven;
  /** Until its last look; of several the longest, and that of all together. */
  readonly ranNs: number;
  readonly drivenNs?: number;
  readonly counters: DriverCounters;
  readonly hold: Hold;
}

/** What one process tells. */
export type DriverFile = Refused | Driving;

/** As it is written, once: what the driver did meanwhile it tells by itself. */
export type Introduction =
  | Omit<Refused, 'key'>
  | Omit<Driving, 'key' | 'ranNs' | 'counters' | 'hold'>;

const DRIVER_FILE = /^driver-(\d+-\d+)\.json$/;
const UNTOLD_FILE = /^untold-((\d+)-\d+)$/;

/**
 * All of a folder; none where it is gone. The service goes on then, so this must not end the one
 * who waits for it.
 */
export function readDriverFiles(folder: string): DriverFile[] {
  try {
    const names = readdirSync(folder);
    const keys = names.flatMap((name) => DRIVER_FILE.exec(name)?.[1] ?? []);
    return [
      ...keys.map((key) => readDriver(folder, key)),
      ...names.flatMap((name) => untoldOf(name) ?? []),
    ];
  } catch (error) {
    if (hasCode(error, 'ENOENT')) {
      return [];
    }
    throw error;
  }
}

/** Of a process that could tell nothing but its number. */
function untoldOf(name: string): Refused | undefined {
  const [, key, pid] = UNTOLD_FILE.exec(name) ?? [];
  if (key === undefined) return undefined;
  const refused = 'it had no room to tell anything in the folder of this boost';
  return { key, pid: Number(pid), namespace: '', missing: [], refused };
}

/** That of one. */
export function readDriver(folder: string, key: string): DriverFile {
  const text = readFileSync(join(folder, FILES.driver(key)), 'utf8');
  const introduction = JSON.parse(text) as Introduction;
  if ('refused' in introduction) return { key, ...introduction };
  return { key, ...introduction, ...readCounters(join(folder, FILES.counters(key))) };
}

const MAGIC = 'bobtdrv1';
const WORD_BYTES = 8;
const SEQUENCE = 1;
const FIRST = 2;
const WHY_LENGTH = 14;
/** How often a file is read again that was being written: it is for less than a microsecond. */
const TRIES = 5;

/** As the driver's thread keeps them (`crates/probe/src/act/counters.rs`), of one of its looks. */
function readCounters(path: string): Pick<Driving, 'ranNs' | 'counters' | 'hold'> {
  let bytes = readFileSync(path);
  for (let tries = 0; tries < TRIES; tries += 1) {
    const again = readFileSync(path);
    const isOfOneLook = wordOf(bytes, SEQUENCE) === wordOf(again, SEQUENCE);
    if (isOfOneLook && wordOf(bytes, SEQUENCE) % 2 === 0) break;
    bytes = again;
  }
  if (bytes.toString('latin1', 0, WORD_BYTES) !== MAGIC) throw new Error(`no counters in ${path}`);
  const word = (place: number): number => wordOf(bytes, FIRST + place);
  const why = (WHY_LENGTH + 1) * WORD_BYTES;
  const lost = bytes.toString('utf8', why, why + wordOf(bytes, WHY_LENGTH));
  return {
    ranNs: word(0),
    counters: {
      looks: word(1),
      lookingNs: word(2),
      boosts: word(3),
      boostedNs: word(4),
      forCollection: word(5),
      forQueueLength: word(6),
      forHead: word(7),
      forLongTurn: word(8),
      refused: word(9),
      lostNs: word(10),
    },
    hold: { lost: lost === '' ? null : lost, isLost: word(11) === 1 },
  };
}

/** In the byte order of x64, the only machine there is a probe for. */
function wordOf(bytes: Buffer, index: number): number {
  return Number(bytes.readBigUInt64LE(index * WORD_BYTES));
}

/** Who is not driven; a thread beside one of the same process that is driven is not told. */
export function refusals(files: readonly DriverFile[]): Refused[] {
  const driving = new Set(files.filter((file) => 'driven' in file).map(({ pid }) => pid));
  return files.filter((file) => 'refused' in file).filter(({ pid }) => !driving.has(pid));
}
