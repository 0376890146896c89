/** Gates at the command line: shown with the answer, told by exit codes. */
import { type GateOutcome, measuredText, sentenceOf } from '../../gates/outcome';
import { tell } from '../console';
import { EXIT_CODES } from '../exit-codes';
import type { Look } from '../report/render-terminal';
import { plain } from '../text/plain';
import { markdownCell } from '../text/recorded-text';
import { alignRows } from '../text/table';

/** One line on stderr for each gate that did not pass, and the exit code of the worst. */
export function concludeGates(outcomes: readonly GateOutcome[]): void {
  for (const one of outcomes.filter(({ outcome }) => outcome !== 'passed')) {
    tell(`bobtail: gate ${one.outcome}: ${sentenceOf(one)}`);
  }
  if (outcomes.some(({ outcome }) => outcome === 'missed')) {
    process.exitCode = EXIT_CODES.gateMissed;
  } else if (outcomes.some(({ outcome }) => outcome === 'undecided')) {
    process.exitCode = EXIT_CODES.gateUndecided;
  }
}

/** For the terminal; nothing without gates. */
export function gateLines(outcomes: readonly GateOutcome[], { colors, width }: Look): string[] {
  if (outcomes.length === 0) {
    return [];
  }
  const paint = { passed: colors.green, missed: colors.red, undecided: colors.yellow };
  const rows = outcomes.map((one) => [
    `  ${paint[one.outcome](one.outcome)}`,
    plain(one.gate),
    measuredText(one),
    one.reason ?? '',
  ]);
  const columns = [
    { align: 'left' },
    { align: 'left', grow: true },
    { align: 'left' },
    { align: 'left', grow: true },
  ] as const;
  return [colors.bold('gates'), ...alignRows(columns, rows, width)];
}

/** As a Markdown table; nothing without gates. */
export function gateTable(outcomes: readonly GateOutcome[]): string {
  if (outcomes.length === 0) {
    return '';
  }
  const rows = outcomes.map((one) => [
    one.outcome === 'passed' ? 'passed' : `**${one.outcome}**`,
    markdownCell(one.gate),
    measuredText(one),
    markdownCell(one.reason ?? ''),
  ]);
  return [['gate', 'wanted', 'measured', ''], ['---', '---', '---', '---'], ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}
