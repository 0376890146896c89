/**
 * The few counters of a running recording that a progress line and a summary need.
 *
 * They are read from the live block in the header page of each trace (`spec/trace-format.md`),
 * which the writer keeps up to date; decoding records is the analysis's work.
 */
import { closeSync, existsSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';

const MAGIC = Buffer.from('BOBTAIL\n', 'latin1');
const HEADER_BYTES = 4096;
const LIVE_OFFSET = 1024;
const REQUEST_WORD = 7;
const LOSS_WORD = 16;
/** Loss kinds that are records which were not written. */
const LOST_RECORD_KINDS = [0, 1, 2, 3, 4, 5, 10];
const DISK_FULL_KIND = 1;
const BYTES_PER_BLOCK = 512;

/** Sums over all traces of a recording. */
export interface TraceTotals {
  readonly traces: number;
  readonly requests: number;
  /** Records that could not be written. */
  readonly lost: number;
  /** Of these: because the disk was full. */
  readonly lostToFullDisk: number;
  /** Bytes on disk; traces have holes, so not their length. */
  readonly bytes: number;
}

/** Reads the header of every trace in `folder`. */
export function readTraceTotals(folder: string): TraceTotals {
  const totals = { traces: 0, requests: 0, lost: 0, lostToFullDisk: 0, bytes: 0 };
  const names = existsSync(folder) ? readdirSync(folder) : [];
  for (const name of names.filter((one) => one.endsWith('.trace'))) {
    const path = join(folder, name);
    totals.traces += 1;
    totals.bytes += statSync(path).blocks * BYTES_PER_BLOCK;
    const header = readHeader(path);
    if (header !== undefined) {
      totals.requests += liveWord(header, REQUEST_WORD);
      totals.lostToFullDisk += liveWord(header, LOSS_WORD + DISK_FULL_KIND);
      for (const kind of LOST_RECORD_KINDS) {
        totals.lost += liveWord(header, LOSS_WORD + kind);
      }
    }
  }
  return totals;
}

/** Whether the process ended, or found the disk full, before it had made its trace. */
export function isWithoutHeader(path: string): boolean {
  return readHeader(path) === undefined;
}

function readHeader(path: string): Buffer | undefined {
  const header = Buffer.alloc(HEADER_BYTES);
  const file = openSync(path, 'r');
  try {
    const bytes = readSync(file, header, 0, HEADER_BYTES, 0);
    return bytes === HEADER_BYTES && header.subarray(0, MAGIC.length).equals(MAGIC)
      ? header
      : undefined;
  } finally {
    closeSync(file);
  }
}

function liveWord(header: Buffer, word: number): number {
  return header.readUInt32LE(LIVE_OFFSET + word * 4);
}
