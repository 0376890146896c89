/**
 * `run.json`, the recorder's own facts about a recording (`spec/run.schema.json`).
 *
 * Written at the start and again at the end, each time by rename, so that a reader never sees half
 * a file and a killed recorder leaves one that says so (`outcome` null).
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { join } from 'node:path';
import { writeFailure } from '../failure';

/** How the recorded command ended. */
export interface Outcome {
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/** What is recorded: everything, or loop events only. */
export type Detail = 'full' | 'loop';

/** Recording in bursts: in each period for a while. */
export interface Bursts {
  readonly everyNs: number;
  readonly forNs: number;
}

/** Between two looks time was taken from a service's CPUs. By `CLOCK_MONOTONIC`. */
export interface TakenInterval {
  readonly fromNs: number;
  readonly untilNs: number;
  readonly takenNs: number;
}

/** The content of `run.json`. */
export interface RunFile {
  readonly schema: 'bobtail-run/1';
  readonly command: readonly string[];
  readonly startedAt: string;
  /** Version of the command's Node, where it could be asked. */
  readonly node?: string;
  readonly detail: Detail;
  readonly warmupNs: number;
  /** Bound of each trace file. */
  readonly maxBytes: number;
  /** Bound of all trace files together. */
  readonly maxTotalBytes: number;
  /** null: recorded all the time. */
  readonly bursts: Bursts | null;
  /** The kernel was asked to record each switch of the loop threads. */
  readonly notRunning: boolean;
  readonly outcome: Outcome | null;
  readonly host: {
    readonly arch: string;
    readonly cpus: number;
    readonly kernel: string;
    /** Time the hypervisor took from all CPUs during the recording; null when unknown. */
    readonly stealNs: number | null;
    /** When; none while the service runs. */
    readonly stolen?: readonly TakenInterval[];
    /** Told afterwards, if at all: what came then is in no percentile of a replay. */
    readonly disturbed?: readonly { readonly fromNs: number; readonly untilNs: number }[];
  };
}

/** Facts of this machine. */
export function describeHost(): RunFile['host'] {
  return { arch: process.arch, cpus: cpus().length, kernel: release(), stealNs: null };
}

/** Writes `run.json` of `folder`. */
export function writeRunFile(folder: string, run: RunFile): void {
  const path = join(folder, 'run.json');
  try {
    writeFileSync(`${path}.tmp`, `${JSON.stringify(run, null, 2)}\n`);
    renameSync(`${path}.tmp`, path);
  } catch (error) {
    rmSync(`${path}.tmp`, { force: true });
    throw writeFailure(error, path);
  }
}

/** Reads `run.json`; undefined when there is none or it is no such file. */
export function readRunFile(folder: string): RunFile | undefined {
  try {
    const run = JSON.parse(readFileSync(join(folder, 'run.json'), 'utf8')) as Partial<RunFile>;
    return run.schema === 'bobtail-run/1' ? (run as RunFile) : undefined;
  } catch {
    return undefined;
  }
}
