/** What tuning found, for the terminal: the verdict and the flags first, then the rest. */
import type { Ratio } from '../analysis';
import type { ParetoArm, TuneAnswer } from '../json/tune';
import type { Look } from '../report/render-terminal';
import { plain } from '../text/plain';
import { alignRows, type Column } from '../text/table';
import { countOf, formatDuration, formatMebibytes, formatPercentile } from '../text/units';

/** The whole answer. */
export function renderTuning(answer: TuneAnswer, look: Look): string {
  const sections = [
    headline(answer, look),
    use(answer, look),
    proofLines(answer, look),
    paretoLines(answer, look),
    outLines(answer, look),
    [look.colors.dim(methodLine(answer))],
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join('\n')}\n`)
    .join('\n');
}

function headline({ proof, interrupted, races }: TuneAnswer, { colors }: Look): string[] {
  if (interrupted) {
    const where = races.length === 0 ? 'before any round was finished' : 'what is known so far';
    return [colors.bold(`interrupted: nothing is recommended (${where})`)];
  }
  if (proof === null) {
    return [colors.bold('nothing that was tried was faster than the unchanged service')];
  }
  const flags = plain(proof.flags.join(' '));
  const verdict = {
    helped: colors.green('helped'),
    'did-not-help': colors.yellow('did not help'),
    'not-enough-samples': colors.yellow('not enough samples to tell'),
  }[proof.verdict];
  return [`${colors.bold(flags)}  ${verdict}: ${plain(proof.reason)}`];
}

function use({ recommendation, proof }: TuneAnswer, { colors }: Look): string[] {
  if (recommendation === null) {
    return proof === null ? [] : ['recommended: leave the flags as they are'];
  }
  const { nodeOptions, command, flags } = recommendation;
  const lines = [`use  ${plain(flags.join(' '))}`];
  if (nodeOptions !== null) lines.push(`  NODE_OPTIONS="${plain(nodeOptions)}"`);
  else lines.push(colors.dim('  they may not stand in NODE_OPTIONS, only behind node:'));
  if (command !== null) lines.push(`  ${plain(command.join(' '))}`);
  return lines;
}

/** Bounds of an A/A interval so far apart hide changes of a fifth and more. */
const NOISY = 1.5;

const PROOF_COLUMNS: readonly Column[] = [
  { align: 'left' },
  { align: 'right' },
  { align: 'right' },
  { align: 'left' },
  { align: 'left' },
];

function proofLines({ proof }: TuneAnswer, look: Look): string[] {
  if (proof?.effect == null || proof.control === null) return [];
  const { effect, control, rounds } = proof;
  const dim = look.colors.dim;
  const title = look.colors.bold(`proof, ${countOf(rounds, 'fresh round')}`);
  const header = [title, ...['unchanged', 'changed', 'ratio [95 %]', 'A/A [95 %]'].map(dim)];
  const rows = effect.percentiles
    .map((one, index) => ({ one, noise: control.percentiles[index] as Ratio }))
    .filter(({ one }) => one.ratio !== null && [99.9, 99, 50].includes(one.percentile))
    .map(({ one, noise }) => {
      const name = formatPercentile(one.percentile);
      const judged = one.percentile === proof.percentile ? `${name} (judged)` : name;
      return row(judged, one, noise, formatDuration);
    });
  const measures = [
    row('CPU per request', effect.cpuNsPerRequest, control.cpuNsPerRequest, formatDuration),
    row('requests/s', effect.requestsPerS, control.requestsPerS, (one) => one.toFixed(0)),
    row('peak memory', effect.peakRssBytes, control.peakRssBytes, formatMebibytes),
  ];
  const table = alignRows(PROOF_COLUMNS, [header, ...rows, ...measures], look.width);
  return [...table, ...noiseLines(proof)];
}

/** What the machine hides: without it "did not help" reads as if nothing could. */
function noiseLines({ percentile, control }: NonNullable<TuneAnswer['proof']>): string[] {
  const noise = control?.percentiles.find((one) => one.percentile === percentile);
  const [low, high] = [noise?.low ?? 1, noise?.high ?? 1];
  if (high / low < NOISY) return [];
  const range = `×${low.toFixed(2)} to ×${high.toFixed(2)}`;
  return [
    `  noisy: the unchanged service differs from itself by ${range}; what is within cannot be`,
    '  told here. A quieter machine, longer rounds or a lower rate tell more.',
  ];
}

function row(name: string, one: Ratio, noise: Ratio, format: (value: number) => string): string[] {
  const value = (figure: number | null): string => (figure === null ? '–' : format(figure));
  return [`  ${name}`, value(one.a), value(one.b), withInterval(one), withInterval(noise)];
}

function withInterval({ ratio, low, high }: Ratio): string {
  if (ratio === null) return '–';
  const bounds = low === null || high === null ? '' : ` [${low.toFixed(2)}–${high.toFixed(2)}]`;
  return `×${ratio.toFixed(2)}${bounds}`;
}

const PARETO_COLUMNS: readonly Column[] = [
  { align: 'left', grow: true },
  ...Array.from({ length: 6 }, (): Column => ({ align: 'right' })),
];

function paretoLines({ pareto, unchanged }: TuneAnswer, look: Look): string[] {
  if (pareto.length === 0 || unchanged === null) return [];
  const title = look.colors.bold('no other is better in tail, CPU and memory together');
  const tail = formatPercentile(unchanged.percentile);
  const names = [tail, 'CPU', 'energy*', 'requests/s', 'peak memory', 'rounds'];
  const rows = pareto.map((one) => paretoRow(one));
  const header = [title, ...names.map(look.colors.dim)];
  const note = '  by the unchanged service in the same rounds; *modelled as CPU time per request';
  return [...alignRows(PARETO_COLUMNS, [header, ...rows], look.width), look.colors.dim(note)];
}

function paretoRow(one: ParetoArm): string[] {
  const ratios = [one.tail, one.cpu, one.energy, one.throughput].map((x) => `×${x.toFixed(2)}`);
  return [`  ${plain(one.name)}`, ...ratios, formatMebibytes(one.peakRssBytes), `${one.rounds}`];
}

/** Those that could not run; who was slower is no news. */
function outLines({ races, proof }: TuneAnswer, { colors }: Look): string[] {
  const arms = [...races.flatMap((race) => race.arms), ...(proof?.arms ?? [])];
  const lines = arms
    .filter(({ out }) => out !== null && out.of !== 'race')
    .map(({ name, out }) => `  ${plain(name)}: ${plain(out?.reason ?? '')}`);
  return lines.length === 0 ? [] : [colors.bold('out'), ...new Set(lines)];
}

function methodLine({ unchanged, races, memory, seed }: TuneAnswer): string {
  const node = unchanged === null ? '' : `node ${unchanged.node.replace(/^v/, '')} · `;
  const rounds = races.map(({ arms }) => arms[0]?.rounds.length ?? 0).join(' + ');
  const raced = races.length === 0 ? '' : `raced for ${rounds} rounds · `;
  const budget = `budget ${formatMebibytes(memory.bytes)} · seed ${seed}`;
  return `${node}${raced}${budget} · every run recorded with --detail loop`;
}
