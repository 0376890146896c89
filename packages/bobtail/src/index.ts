/**
 * The library: record, read, explain and compare from a program (`docs/guide/library.md`).
 *
 * The command line is built on the same calls. Nothing here prints; all errors that are expected
 * are a `Failure` with a stable `code`.
 */
export type {
  DiffOptions,
  ExplainOptions,
  ExportSelection,
  ReportOptions,
  RequestSelection,
} from './cli/analysis';
export type { ExitName } from './cli/exit-codes';
export { type Exported, exportRecording } from './cli/export/export';
export type { FormatName } from './cli/export/formats';
export { Failure, type FailureCode } from './cli/failure';
export type {
  CauseChange,
  Change,
  CulpritChange,
  Diff,
  DiffSide,
  IoChange,
  PercentileDiff,
  RouteDiff,
  Verdict,
} from './cli/json/diff';
export type {
  ExplainedEvent,
  Explanation,
  Pause,
  Segment,
  SegmentCulprit,
} from './cli/json/explanation';
export type {
  Breakdown,
  Collections,
  Culprit,
  Finding,
  IoShare,
  ProcessBreakdown,
  Report,
  TimeSpent,
  Unavailable,
  Work,
} from './cli/json/report';
export type { Outcome, RunFile, TakenInterval } from './cli/json/run';
export type {
  Frontier,
  FrontierPoint,
  Outcome as WhatIfOutcome,
  PolicyOutcome,
  Predicted,
  Sensitivity,
  WhatIf,
} from './cli/json/what-if';
export type { GateUnit, Operator } from './gates/gate';
export type { GateOutcome, Outcome as GateVerdict } from './gates/outcome';
export type { PageOptions } from './library/pages';
export { type RecordOptions, record } from './library/record';
export {
  check,
  checkDiff,
  diff,
  explain,
  explainMany,
  type Recording,
  type RecordingLike,
  read,
  report,
  whatIf,
  writeDiffPage,
  writePage,
  writeWhatIfPage,
} from './library/recording';
