/** `bobtail doctor`: what this machine and a Node allow to record and to boost, and why not. */
import { analysisVersion } from '../analysis';
import { type Colors, colorsFor, widthOf, writeAnswer } from '../console';
import { EXIT_CODES } from '../exit-codes';
import { Failure } from '../failure';
import { plain } from '../text/plain';
import { alignRows, type Column } from '../text/table';
import { describeHost, type Host } from './host';
import { type Levers, type LeverTrial, leverRows, tryLevers } from './levers';
import { type TriedNode, tryNode } from './try-node';

/** What the user asked for. */
export interface DoctorRequest {
  /** The Node to try, with its own options; this process's Node when empty. */
  readonly command: readonly string[];
  readonly levers: LeverTrial;
  readonly format: 'text' | 'json';
}

/** The answer (`spec/doctor.schema.json`). */
interface Diagnosis {
  readonly schema: 'bobtail-doctor/1';
  readonly host: Host;
  readonly analysis: { readonly ok: boolean; readonly reason: string | null };
  readonly nodes: readonly TriedNode[];
  readonly levers: Levers;
}

/**
 * Examines and prints; exits with 69 when the Node cannot be recorded, and with 82 when a lever
 * that was tried is left raised.
 */
export async function doctor(request: DoctorRequest): Promise<void> {
  const command = request.command.length > 0 ? request.command : [process.execPath];
  const { levers, isAllBack } = await tryLevers(request.levers);
  const diagnosis: Diagnosis = {
    schema: 'bobtail-doctor/1',
    host: describeHost(),
    analysis: checkAnalysis(),
    nodes: [await tryNode(command)],
    levers,
  };
  await writeAnswer(
    request.format === 'json'
      ? JSON.stringify(diagnosis, null, 2)
      : renderDiagnosis(diagnosis, colorsFor(process.stdout), widthOf(process.stdout)),
  );
  if (diagnosis.nodes.some((node) => !node.ok)) {
    process.exitCode = EXIT_CODES.unsupported;
  }
  if (!isAllBack) process.exitCode = EXIT_CODES.leftRaised;
}

function checkAnalysis(): Diagnosis['analysis'] {
  try {
    analysisVersion();
    return { ok: true, reason: null };
  } catch (error) {
    return { ok: false, reason: error instanceof Failure ? error.message : String(error) };
  }
}

const COLUMNS: readonly Column[] = [
  { align: 'left' },
  { align: 'left' },
  // Never cut: the end of a reason is what to do about it. A terminal wraps it.
  { align: 'left' },
];

function renderDiagnosis(diagnosis: Diagnosis, colors: Colors, width: number): string {
  const { host, analysis, nodes, levers } = diagnosis;
  const quota = host.cpuQuota === null ? '' : `, ${host.cpuQuota.toFixed(2)} of them by quota`;
  const machine = `${host.platform}-${host.arch}`;
  const lines = [
    colors.bold('host'),
    `  ${machine} · kernel ${host.kernel} · ${host.libc} · ${host.cpus} CPUs${quota}`,
    ...alignRows(COLUMNS, [checkRow('analysis', analysis.ok, analysis.reason, colors)], width),
  ];
  for (const node of nodes) {
    const title = `node ${node.version?.replace(/^v/, '') ?? 'unknown'}`;
    const path = node.execPath ?? node.command.join(' ');
    const rows = [
      checkRow('recording', node.ok, node.reason, colors),
      ...node.mechanisms.map((one) => checkRow(one.name, one.ok, one.reason ?? null, colors)),
    ];
    lines.push('', `${colors.bold(title)}  ${colors.dim(plain(path))}`);
    lines.push(...alignRows(COLUMNS, rows, width));
  }
  lines.push('', colors.bold('levers and energy'));
  lines.push(...alignRows(COLUMNS, leverRows(levers, colors), width));
  return lines.join('\n');
}

function checkRow(name: string, ok: boolean, reason: string | null, colors: Colors): string[] {
  return [`  ${plain(name)}`, ok ? colors.green('ok') : colors.red('no'), plain(reason ?? '')];
}
