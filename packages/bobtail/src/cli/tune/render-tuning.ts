/** What tuning found, for the terminal: the verdict and the flags first, then the rest. */
import type { ParetoArm, TuneAnswer } from '../json/tune';
import { comparisonLines, comparisonRow } from '../proof/comparison';
import type { Look } from '../report/render-terminal';
import { plain } from '../text/plain';
import { alignRows, type Column } from '../text/table';
import { formatDuration, formatMebibytes, formatPercentile } from '../text/units';

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

function use({ recommendation, proof, interrupted }: TuneAnswer, { colors }: Look): string[] {
  if (recommendation === null) {
    return proof === null || interrupted ? [] : ['recommended: leave the flags as they are'];
  }
  const { nodeOptions, command, flags } = recommendation;
  const lines = [`use  ${plain(flags.join(' '))}`];
  if (nodeOptions !== null) lines.push(`  NODE_OPTIONS="${plain(nodeOptions)}"`);
  else lines.push(colors.dim('  they may not stand in NODE_OPTIONS, only behind node:'));
  if (command !== null) lines.push(`  ${plain(command.join(' '))}`);
  return lines;
}

function proofLines({ proof }: TuneAnswer, look: Look): string[] {
  if (proof?.effect == null || proof.control === null) return [];
  const { effect, control } = proof;
  const cpu = proof.objective === 'cpu' ? 'CPU per request (judged)' : 'CPU per request';
  const measures = [
    comparisonRow(cpu, effect.cpuNsPerRequest, control.cpuNsPerRequest, formatDuration),
    comparisonRow('requests/s', effect.requestsPerS, control.requestsPerS, (x) => x.toFixed(0)),
    comparisonRow('peak memory', effect.peakRssBytes, control.peakRssBytes, formatMebibytes),
  ];
  return comparisonLines({ ...proof, effect, control }, measures, look);
}

const PARETO_COLUMNS: readonly Column[] = [
  { align: 'left', grow: true },
  ...Array.from({ length: 6 }, (): Column => ({ align: 'right' })),
];

function paretoLines({ pareto, unchanged }: TuneAnswer, look: Look): string[] {
  if (pareto.length === 0 || unchanged === null) return [];
  const title = look.colors.bold(
    'no other is better in tail, throughput, memory and energy together',
  );
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
