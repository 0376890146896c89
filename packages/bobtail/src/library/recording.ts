/** A recording as an object: the questions of the command line as methods. */
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  analyzeDiff,
  analyzeReport,
  analyzeRequest,
  analyzeRequests,
  analyzeWhatIf,
  type DiffOptions,
  type ExplainOptions,
  type ExportSelection,
  type ReportOptions,
  type RequestSelection,
} from '../cli/analysis';
import { type Exported, exportRecording } from '../cli/export/export';
import type { FormatName } from '../cli/export/formats';
import { Failure } from '../cli/failure';
import type { Diff } from '../cli/json/diff';
import type { Explanation } from '../cli/json/explanation';
import type { Report } from '../cli/json/report';
import { type RunFile, readRunFile } from '../cli/json/run';
import type { WhatIf } from '../cli/json/what-if';
import { gatedRoutes, judgeDiffGates, parseDiffGate } from '../gates/diff-gate';
import { parseGate } from '../gates/gate';
import { judgeGates } from '../gates/judge';
import type { GateOutcome } from '../gates/outcome';
import {
  type PageOptions,
  writeDifferencePage,
  writePredictionPage,
  writeReportPage,
} from './pages';

/** A recording folder. All methods reject with a `Failure` where it cannot be read. */
export class Recording {
  /** Absolute path. */
  readonly folder: string;
  /** What the recorder noted; undefined when its `run.json` is missing. */
  readonly run: RunFile | undefined;

  /** Use `read` or `record`. */
  constructor(folder: string, run: RunFile | undefined) {
    this.folder = folder;
    this.run = run;
  }

  /** Percentiles, tail against the rest, culprits, findings: `bobtail report --json`. */
  report(options?: ReportOptions): Promise<Report> {
    return analyzeReport(this.folder, options);
  }

  /** One request, segment by segment: `bobtail explain --json`. */
  explain(which: ExplainOptions = { slowest: 1 }): Promise<Explanation> {
    return analyzeRequest(this.folder, which);
  }

  /** Several requests, slowest first; reads the recording once, however many they are. */
  explainMany(which: RequestSelection): Promise<Explanation[]> {
    return analyzeRequests(this.folder, which);
  }

  /** What moved from this recording to another: `bobtail diff --json`. */
  diff(other: Recording | string, options?: DiffOptions): Promise<Diff> {
    return diff(this, other, options);
  }

  /** Holds gates such as `p99.9<50ms` against it, in their order (`docs/guide/ci.md`). */
  check(gates: readonly string[], options?: ReportOptions): Promise<GateOutcome[]> {
    return check(this, gates, options);
  }

  /** Holds gates such as `p99<+10%` against what moved from it to another, in their order. */
  checkDiff(
    other: Recording | string,
    gates: readonly string[],
    options?: ReportOptions,
  ): Promise<GateOutcome[]> {
    return checkDiff(this, other, gates, options);
  }

  /** What scenarios such as `gc=0.7,pool=8` would bring: `bobtail whatif --json`. */
  whatIf(scenarios: readonly string[], options?: ReportOptions): Promise<WhatIf> {
    return whatIf(this, scenarios, options);
  }

  /** Writes the HTML page, whole or not at all, and gives what it tells: `report --html`. */
  writePage(out: string, options?: PageOptions): Promise<Report> {
    return writePage(this, out, options);
  }

  /** Writes the page of what moved from it to another: `diff --html`. */
  writeDiffPage(other: Recording | string, out: string, options?: PageOptions): Promise<Diff> {
    return writeDiffPage(this, other, out, options);
  }

  /** Writes the page of what scenarios would bring: `whatif --html`. */
  writeWhatIfPage(
    scenarios: readonly string[],
    out: string,
    options?: ReportOptions,
  ): Promise<WhatIf> {
    return writeWhatIfPage(this, scenarios, out, options);
  }

  /** Writes it as a file of another tool, whole or not at all: `bobtail export`. */
  export(format: FormatName, out: string, selection?: ExportSelection): Promise<Exported> {
    return exportRecording(this.folder, format, out, selection);
  }
}

/**
 * Opens a recording folder, also one that is still being written.
 *
 * Rejects with a `Failure` when there is no such folder. Whether it is a recording, and can be
 * read, is told by the first question: each reads the traces anew.
 */
export async function read(folder: string): Promise<Recording> {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new Failure('notRecording', 'not a recording: no such folder', folder);
  }
  return new Recording(resolve(folder), readRunFile(folder));
}

/** A recording, or the path of its folder. */
export type RecordingLike = Recording | string;

/** The report of a recording: `bobtail report --json`. Rejects with a `Failure`. */
export async function report(from: RecordingLike, options?: ReportOptions): Promise<Report> {
  return analyzeReport(folderOf(from), options);
}

/** One request of a recording: `bobtail explain --json`. Rejects with a `Failure`. */
export async function explain(
  from: RecordingLike,
  which: ExplainOptions = { slowest: 1 },
): Promise<Explanation> {
  return analyzeRequest(folderOf(from), which);
}

/**
 * Several requests of a recording, slowest first, in one pass however many they are. Rejects with a
 * `Failure`.
 */
export async function explainMany(
  from: RecordingLike,
  which: RequestSelection,
): Promise<Explanation[]> {
  return analyzeRequests(folderOf(from), which);
}

/**
 * What moved from recording `a` to recording `b`, with intervals and the noise of each:
 * `bobtail diff --json`. Rejects with a `Failure`.
 */
export async function diff(
  a: RecordingLike,
  b: RecordingLike,
  options?: DiffOptions,
): Promise<Diff> {
  return analyzeDiff(folderOf(a), folderOf(b), options);
}

/**
 * What came of gates such as `p99.9<50ms`, in their order. Rejects with a `Failure`: of code
 * `BOBTAIL_USAGE` for a gate that is not understood, before the recording is read.
 */
export async function check(
  from: RecordingLike,
  gates: readonly string[],
  options?: ReportOptions,
): Promise<GateOutcome[]> {
  return judgeGates(folderOf(from), gates.map(parseGate), options);
}

/**
 * What came of gates such as `p99<+10%` on the change from recording `a` to recording `b`, in their
 * order: `diff --fail-on`. Rejects with a `Failure`: of code `BOBTAIL_USAGE` for a gate that is not
 * understood, before a recording is read.
 */
export async function checkDiff(
  a: RecordingLike,
  b: RecordingLike,
  gates: readonly string[],
  options?: ReportOptions,
): Promise<GateOutcome[]> {
  const parsed = gates.map(parseDiffGate);
  const asked = { ...options, routes: gatedRoutes(parsed) };
  return judgeDiffGates(await analyzeDiff(folderOf(a), folderOf(b), asked), parsed);
}

/**
 * What scenarios would bring, by replays of a recording: `bobtail whatif --json`. Each text is a
 * scenario (`docs/guide/what-if.md`), such as `gc=0.7,pool=8` or `policy=combined`; without any the
 * answer has the replay without a change and the ranking. Rejects with a `Failure`: of code
 * `BOBTAIL_USAGE` for a scenario that is not understood, `BOBTAIL_NOT_REPLAYABLE` for a recording
 * that lacks what a replay needs.
 */
export async function whatIf(
  from: RecordingLike,
  scenarios: readonly string[],
  options?: ReportOptions,
): Promise<WhatIf> {
  return analyzeWhatIf(folderOf(from), { ...options, scenarios });
}

/**
 * Writes the HTML page of a recording to `out`, whole or not at all, and gives the report that it
 * tells: `report --html`. A missed gate is told there and is no error. Rejects with a `Failure`.
 */
export async function writePage(
  from: RecordingLike,
  out: string,
  options?: PageOptions,
): Promise<Report> {
  return writeReportPage(folderOf(from), out, options);
}

/**
 * Writes the HTML page of what moved from recording `a` to recording `b` to `out`, whole or not at
 * all, and gives the difference that it tells: `diff --html`. Rejects with a `Failure`.
 */
export async function writeDiffPage(
  a: RecordingLike,
  b: RecordingLike,
  out: string,
  options?: PageOptions,
): Promise<Diff> {
  return writeDifferencePage([folderOf(a), folderOf(b)], out, options);
}

/**
 * Writes the HTML page of what scenarios would bring to `out`, whole or not at all, and gives the
 * answer that it tells: `whatif --html`. Rejects with a `Failure`, as `whatIf` does.
 */
export async function writeWhatIfPage(
  from: RecordingLike,
  scenarios: readonly string[],
  out: string,
  options?: ReportOptions,
): Promise<WhatIf> {
  return writePredictionPage(folderOf(from), out, { ...options, scenarios });
}

function folderOf(from: RecordingLike): string {
  return typeof from === 'string' ? from : from.folder;
}
