/**
 * The end of a recording: how it went, what was recorded, and what was wrong.
 *
 * The service's own end wins. A trouble of the recorder takes the exit code only when the service
 * ended well, so that `bobtail record -- CMD` can stand in for `CMD` anywhere.
 */
import type { ThrottlingWatch } from '../../cgroup/throttling';
import { exitCodeOfSignal } from '../exit-codes';
import { Failure, writeFailure } from '../failure';
import { type Outcome, type RunFile, writeRunFile } from '../json/run';
import { countOf, formatDuration } from '../text/units';
import { type RecordedProcess, readRecordedProcesses } from './agent-files';
import { tooOld } from './command';
import type { LoadCommand } from './load-command';
import { discardEmptyRecording, type RecordingFolder } from './recording-folder';
import type { StolenWatch } from './stolen';
import { writeThrottling } from './throttled';
import { readTraceTotals, type TraceTotals } from './trace-headers';
import { type V8ThreadsWatch, writeV8Threads } from './v8-threads';

/** How a recording went. */
export interface Ending {
  readonly folder: RecordingFolder;
  readonly run: RunFile;
  readonly outcome: Outcome;
  /** What the hypervisor took while it was recorded. */
  readonly stolen: StolenWatch;
  /** What the groups of the processes were throttled while these lived. */
  readonly throttling: ThrottlingWatch;
  /** What V8's own threads took from their loops. */
  readonly v8Threads: V8ThreadsWatch;
  readonly durationMs: number;
  readonly stoppedByRecorder: boolean;
  /** A signal ended the recording. */
  readonly interrupted: boolean;
  /** The service did not end by SIGTERM in time. */
  readonly killed: boolean;
  readonly load: LoadCommand | undefined;
  readonly loadWanted: boolean;
  readonly quiet: boolean;
}

/** What came of it. */
export interface Conclusion {
  /** Event loops that were recorded. */
  readonly processes: readonly RecordedProcess[];
  readonly totals: TraceTotals;
  /** The one that gives the exit code first. */
  readonly troubles: readonly Failure[];
  /** The service ended as it should. */
  readonly endedWell: boolean;
  /** There is something to report. */
  readonly recorded: boolean;
}

const COMMAND_SHOWN = 80;
const NS_PER_MS = 1e6;

/** Completes the recording and says what came of it; a folder without anything in it is removed. */
export function conclude(ending: Ending): Conclusion {
  const started = readRecordedProcesses(ending.folder.path);
  const processes = started.filter((one) => probeFailure(one) === undefined);
  const totals = readTraceTotals(ending.folder.path);
  const troubles = [...closeRunFile(ending), ...troublesOf(ending, started, totals)];
  if (processes.length === 0) {
    discardEmptyRecording(ending.folder);
  }
  return {
    processes,
    totals,
    troubles,
    endedWell: endedWell(ending),
    recorded: processes.length > 0 && totals.requests > 0,
  };
}

/** The service has ended already and its end must be passed on, so this may not throw. */
function closeRunFile(ending: Ending): Failure[] {
  const { folder, run, outcome, stolen, throttling, v8Threads } = ending;
  const host = { ...run.host, stealNs: stolen.totalNs, stolen: stolen.intervals };
  try {
    writeRunFile(folder.path, { ...run, outcome, host });
    writeThrottling(folder.path, throttling);
    writeV8Threads(folder.path, v8Threads);
    return [];
  } catch (error) {
    return [writeFailure(error, ending.folder.path)];
  }
}

/** Being ended by the recorder is the plan, whichever way the service answers SIGTERM. */
function endedWell(ending: Ending): boolean {
  const { exitCode, signal } = ending.outcome;
  if (!ending.stoppedByRecorder) {
    return exitCode === 0;
  }
  const code = signal === null ? exitCode : exitCodeOfSignal(signal);
  return code === 0 || code === exitCodeOfSignal('SIGTERM') || ending.killed;
}

/** Troubles, the one that gives the exit code first. */
function troublesOf(
  ending: Ending,
  started: readonly RecordedProcess[],
  totals: TraceTotals,
): Failure[] {
  const troubles: Failure[] = [];
  if (totals.lostToFullDisk > 0) {
    const lost = countOf(totals.lostToFullDisk, 'record');
    troubles.push(new Failure('diskFull', `disk full: ${lost} lost`, ending.folder.path));
  }
  const failures = started.map(probeFailure);
  if (failures.every((one) => one !== undefined)) {
    troubles.push(failures[0] === undefined ? nothingSeen(ending) : notRecorded(failures[0]));
  } else if (ending.load === undefined && ending.loadWanted) {
    troubles.push(new Failure('loadFailed', 'the service ended before the load command started'));
  }
  const loadFailure = ending.load?.failure();
  if (loadFailure !== undefined) {
    troubles.push(loadFailure);
  }
  if (ending.load?.cancelled && !ending.stoppedByRecorder && !ending.interrupted) {
    troubles.push(new Failure('loadFailed', 'the service ended while the load command ran'));
  }
  if (totals.requests === 0 && failures.some((one) => one === undefined)) {
    troubles.push(new Failure('nothingRecorded', 'no request was recorded', ending.folder.path));
  }
  return troubles;
}

/** Why a process that listened was not recorded. */
function probeFailure(one: RecordedProcess): string | undefined {
  const probe = one.mechanisms.find((mechanism) => mechanism.name === 'probe' && !mechanism.ok);
  if (probe === undefined) {
    return undefined;
  }
  // Whatever the probe stumbled over in an old Node, its age is the reason.
  return tooOld(one.node) ?? probe.reason ?? 'the probe could not start';
}

function notRecorded(reason: string): Failure {
  return new Failure('unsupported', `nothing recorded: ${reason}`);
}

function nothingSeen(ending: Ending): Failure {
  if (process.env.BOBTAIL_DISABLED === '1') {
    return new Failure(
      'unsupported',
      'nothing recorded: recording is switched off',
      'BOBTAIL_DISABLED=1',
    );
  }
  const { exitCode, signal } = ending.outcome;
  const how = signal === null ? `exit code ${exitCode}` : signal;
  const after = formatDuration(ending.durationMs * NS_PER_MS);
  return new Failure(
    'unsupported',
    `nothing recorded: no Node.js server was seen before the command ended with ${how} ` +
      `after ${after}`,
    shortened(ending.run.command.join(' ')),
  );
}

function shortened(command: string): string {
  return command.length <= COMMAND_SHOWN ? command : `${command.slice(0, COMMAND_SHOWN - 1)}…`;
}
