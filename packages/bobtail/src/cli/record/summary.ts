/** What the command line says of a recording that ended, and the exit code that makes. */
import { tell } from '../console';
import { EXIT_CODES } from '../exit-codes';
import { isNotAsked } from '../report/sentences';
import { shownPath } from '../text/paths';
import { countOf, formatBytes, formatCount, formatDuration } from '../text/units';
import { countRefusedLoops, type RecordedProcess } from './agent-files';
import type { Conclusion, Ending } from './conclusion';
import { exitLike } from './signals';
import type { TraceTotals } from './trace-headers';

const PIDS_SHOWN = 4;
const NS_PER_MS = 1e6;

/** Tells what was recorded. */
export function tellConclusion(ending: Ending, conclusion: Conclusion): void {
  const { processes, totals, troubles } = conclusion;
  if (processes.length > 0 && !ending.quiet) {
    tell(summaryLine(ending, processes, totals));
    tell(`  bobtail report ${shownPath(ending.folder.path)}`);
  }
  for (const trouble of troubles) {
    tell(`bobtail: ${trouble.message}`);
  }
}

/** Sets the exit code, or dies as the service did. */
export function leaveAs(ending: Ending, { endedWell, troubles }: Conclusion): void {
  if (endedWell) {
    process.exitCode = troubles[0]?.exitCode ?? process.exitCode ?? EXIT_CODES.ok;
  } else {
    exitLike(ending.outcome);
  }
}

function summaryLine(
  ending: Ending,
  processes: readonly RecordedProcess[],
  totals: TraceTotals,
): string {
  const isMissing = ({ ok, reason }: RecordedProcess['mechanisms'][number]): boolean =>
    !ok && !isNotAsked(reason ?? '');
  const missing = new Set(
    processes.flatMap((one) => one.mechanisms.filter(isMissing).map((it) => it.name)),
  );
  const parts = [
    describePids(processes),
    `node ${[...new Set(processes.map((one) => one.node.replace(/^v/, '')))].join(', ')}`,
    countOf(totals.requests, 'request'),
    `${formatCount(totals.lost)} lost`,
    formatBytes(totals.bytes),
    formatDuration(ending.durationMs * NS_PER_MS),
  ];
  const refused = countRefusedLoops(ending.folder.path);
  if (refused > 0) {
    parts.push(`${countOf(refused, 'more event loop')} not recorded: --max-total`);
  }
  if (missing.size > 0) {
    parts.push(`not available: ${[...missing].join(', ')}`);
  }
  if (ending.killed) {
    parts.push('killed: SIGTERM did not end the service');
  }
  return `  recorded ${parts.join(' · ')}`;
}

function describePids(processes: readonly RecordedProcess[]): string {
  const pids = [...new Set(processes.map((one) => one.pid))];
  const shown = pids.slice(0, PIDS_SHOWN).join(', ');
  const more = pids.length > PIDS_SHOWN ? ` and ${pids.length - PIDS_SHOWN} more` : '';
  const threads = processes.length - pids.length;
  const workers = threads > 0 ? ` + ${countOf(threads, 'worker thread')}` : '';
  return `pid${pids.length === 1 ? '' : 's'} ${shown}${more}${workers}`;
}
