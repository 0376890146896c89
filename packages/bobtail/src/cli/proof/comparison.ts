/** A proof as a table: what was changed beside what was not, and what the latter does by itself. */
import type { Comparison } from '../../prove/prove';
import type { Ratio } from '../analysis';
import type { Look } from '../report/render-terminal';
import { alignRows, type Column } from '../text/table';
import { countOf, formatDuration, formatPercentile } from '../text/units';

/** What is shown. */
export interface Compared {
  readonly effect: Pick<Comparison, 'percentiles'>;
  readonly control: Pick<Comparison, 'percentiles'>;
  readonly rounds: number;
  /** Where it was judged. */
  readonly percentile: number | null;
}

/** Bounds of an A/A interval so far apart hide changes of a fifth and more. */
const NOISY = 1.5;

const COLUMNS: readonly Column[] = [
  { align: 'left' },
  { align: 'right' },
  { align: 'right' },
  { align: 'left' },
  { align: 'left' },
];

/** Percentiles, then `measures`, which are rows of `comparisonRow`; and how noisy it was. */
export function comparisonLines(
  compared: Compared,
  measures: readonly string[][],
  look: Look,
): string[] {
  const { effect, control, rounds, percentile } = compared;
  const dim = look.colors.dim;
  const title = look.colors.bold(`proof, ${countOf(rounds, 'fresh round')}`);
  const header = [title, ...['unchanged', 'changed', 'ratio [95 %]', 'A/A [95 %]'].map(dim)];
  const rows = effect.percentiles
    .map((one, index) => ({ one, noise: control.percentiles[index] as Ratio }))
    .filter(({ one }) => one.ratio !== null && [99.9, 99, 50].includes(one.percentile))
    .map(({ one, noise }) => {
      const name = formatPercentile(one.percentile);
      const judged = one.percentile === percentile ? `${name} (judged)` : name;
      return comparisonRow(judged, one, noise, formatDuration);
    });
  const table = alignRows(COLUMNS, [header, ...rows, ...measures], look.width);
  return [...table, ...noiseLines(compared)];
}

/** What the machine hides: without it "did not help" reads as if nothing could. */
function noiseLines({ percentile, control }: Compared): string[] {
  const noise = control.percentiles.find((one) => one.percentile === percentile);
  const [low, high] = [noise?.low ?? 1, noise?.high ?? 1];
  if (high / low < NOISY) return [];
  const range = `×${low.toFixed(2)} to ×${high.toFixed(2)}`;
  return [
    `  noisy: the unchanged service differs from itself by ${range}; what is within cannot be`,
    '  told here. A quieter machine, longer rounds or a lower rate tell more.',
  ];
}

/** A figure of both, its ratio, and that of the unchanged service to itself. */
export function comparisonRow(
  name: string,
  one: Ratio,
  noise: Ratio,
  format: (value: number) => string,
): string[] {
  const value = (figure: number | null): string => (figure === null ? '–' : format(figure));
  return [`  ${name}`, value(one.a), value(one.b), withInterval(one), withInterval(noise)];
}

function withInterval({ ratio, low, high }: Ratio): string {
  if (ratio === null) return '–';
  const bounds = low === null || high === null ? '' : ` [${low.toFixed(2)}–${high.toFixed(2)}]`;
  return `×${ratio.toFixed(2)}${bounds}`;
}
