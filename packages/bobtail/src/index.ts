/** The library: read a recording from a program. The command line is built on the same calls. */
export {
  analyzeReport,
  analyzeRequest,
  analyzeRequests,
  type ExplainOptions,
  type ExportSelection,
  type ReportOptions,
  type RequestSelection,
} from './cli/analysis';
export { type Exported, exportRecording } from './cli/export/export';
export type { FormatName } from './cli/export/formats';
export { Failure } from './cli/failure';
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
export type { Outcome, RunFile } from './cli/json/run';
