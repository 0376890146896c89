/**
 * The verbs and their options: what may be typed, and what it means.
 *
 * Everything after `--`, or after the first word that is no option, belongs to the recorded command
 * and is not looked at.
 */

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Command, CommanderError, Option } from 'commander';
import { ACTUATORS, type DriveFlags, type ProveFlags } from './boost/flags';
import { collect } from './collect';
import { tell } from './console';
import { FORMAT_NAMES } from './export/formats';
import { type ExportFlags, parseExport } from './export/selection';
import { Failure } from './failure';
import type { Bursts, Detail } from './json/run';
import { parseCount, parseDurationNs, parsePercentile, parseSizeBytes } from './quantity';
import type { Recorded } from './record/record';
import { parseRequestId } from './request-id';
import type { TuneFlags } from './tune/request';
import { addWhatIf } from './whatif/command';

const MAX_SIZE_DEFAULT = '512m';
const MAX_TOTAL_DEFAULT = '4g';
const BURST_NS_MIN = 10_000_000;

/** Parses `argv` (without node and script) and runs the verb. */
export async function runCommandLine(argv: readonly string[]): Promise<void> {
  const program = buildProgram();
  try {
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      throw error;
    }
    if (error.exitCode === 0) {
      return;
    }
    throw usageFailure(error, program);
  }
}

function usageFailure(error: CommanderError, program: Command): Failure {
  if (error.code === 'commander.help') {
    // No verb was given: the help is the message.
    process.stderr.write(program.helpInformation());
    return new Failure('usage', 'a verb is needed');
  }
  const [message = '', hint] = error.message.replace(/^error: /, '').split('\n');
  const nearest = hint === undefined ? 'see bobtail --help' : hint.replace(/^\(|\)$/g, '');
  return new Failure('usage', message, nearest);
}

/** The verbs and options, for whoever runs them or asks which there are. */
export function buildProgram(): Command {
  const program = new Command('bobtail')
    .description('Explains the tail latency of a Node.js service, request by request.')
    .version(readVersion(), '-V, --version')
    .enablePositionalOptions()
    .helpCommand(false);
  addRecord(program);
  addReport(program);
  addExplain(program);
  addDiff(program);
  addWhatIf(program);
  addTune(program);
  addExport(program);
  addBoost(program);
  addDoctor(program);
  for (const command of [program, ...program.commands]) {
    command.exitOverride();
    command.configureOutput({ writeErr: () => undefined, outputError: () => undefined });
  }
  return program;
}

function readVersion(): string {
  const path = join(__dirname, '..', '..', 'package.json');
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
}

interface RecordFlags {
  out: string;
  onPort?: string;
  warmup?: string;
  duration?: string;
  every?: string;
  for?: string;
  detail: Detail;
  notRunning: boolean;
  maxSize: string;
  maxTotal: string;
  bestEffort: boolean;
  report: boolean;
  html: boolean;
  quiet: boolean;
}

function addRecord(program: Command): void {
  program
    .command('record')
    .summary('run a command under the probe')
    .usage('[options] -- <command...>')
    .description('Runs a command unchanged and records its Node.js event loops.')
    .argument('<command...>', 'the command, best after --')
    .passThroughOptions()
    .option('-o, --out <folder>', 'where to write the recording', 'recording.bobtail')
    .option('--on-port <command>', 'run it with $PORT when the server listens; ends the recording')
    .option('--warmup <seconds>', 'leave this time after listening out of the report')
    .option('--duration <seconds>', 'stop the service this long after it listens')
    .option('--every <seconds>', 'record in bursts, one in each period this long; needs --for')
    .option('--for <seconds>', 'how long each burst is')
    .addOption(
      new Option('--detail <detail>', 'what to record').choices(['full', 'loop']).default('full'),
    )
    .option('--not-running', 'tell when the loop waited for a CPU; costs a little more', false)
    .option('--max-size <size>', 'bound of each trace file', MAX_SIZE_DEFAULT)
    .option('--max-total <size>', 'bound of all traces together', MAX_TOTAL_DEFAULT)
    .option('--best-effort', 'run the service unrecorded when it cannot be recorded', false)
    .option('--no-report', 'after --on-port or --duration: do not print the report')
    .option('--no-html', 'do not write the HTML report into the recording')
    .option('-q, --quiet', 'no progress, no summary', false)
    .action(async (command: string[], flags: RecordFlags) => {
      const warmupNs = flags.warmup === undefined ? 0 : parseDurationNs(flags.warmup, '--warmup');
      const durationNs =
        flags.duration === undefined ? undefined : parseDurationNs(flags.duration, '--duration');
      if (durationNs !== undefined && durationNs <= warmupNs) {
        throw new Failure('usage', '--duration must be longer than --warmup', flags.duration);
      }
      const { record } = await import('./record/record');
      await record({
        command,
        out: flags.out,
        ...(flags.onPort === undefined ? {} : { onPort: flags.onPort }),
        warmupNs,
        ...(durationNs === undefined ? {} : { durationNs }),
        ...parseBursts(flags),
        detail: flags.detail,
        notRunning: flags.notRunning,
        maxBytes: parseSizeBytes(flags.maxSize, '--max-size'),
        maxTotalBytes: parseSizeBytes(flags.maxTotal, '--max-total'),
        bestEffort: flags.bestEffort,
        quiet: flags.quiet,
        afterwards: (recorded) => reportAfterRecording(recorded, flags),
      });
    });
}

/** `--every 60s --for 2s`. */
function parseBursts(flags: RecordFlags): { bursts?: Bursts } {
  if (flags.every === undefined && flags.for === undefined) {
    return {};
  }
  if (flags.every === undefined || flags.for === undefined) {
    throw new Failure('usage', '--every and --for go together');
  }
  const everyNs = parseDurationNs(flags.every, '--every');
  const forNs = parseDurationNs(flags.for, '--for');
  if (forNs < BURST_NS_MIN) {
    throw new Failure('usage', '--for must be at least 10ms', flags.for);
  }
  if (everyNs <= forNs) {
    throw new Failure('usage', '--every must be longer than --for', flags.every);
  }
  return { bursts: { everyNs, forNs } };
}

/**
 * Reports are a courtesy here: when there is none, the recording still went as it went. Who sends
 * SIGTERM waits for the end and gets none; who presses Ctrl-C wants to see what came of it.
 */
async function reportAfterRecording(recorded: Recorded, flags: RecordFlags): Promise<void> {
  const { folder, stoppedByRecorder, interruptedBy } = recorded;
  if (interruptedBy !== undefined && interruptedBy !== 'SIGINT') {
    return;
  }
  const { report } = await import('./report/report');
  const format = flags.report && stoppedByRecorder ? 'text' : undefined;
  const text = { folder, format, quiet: flags.quiet } as const;
  const page = { ...text, html: join(folder, 'report.html'), afterwards: true };
  const attempts = [...(flags.html ? [page] : []), ...(format === undefined ? [] : [text])];
  for (const attempt of attempts) {
    try {
      await report(attempt);
      return;
    } catch (error) {
      if (!(error instanceof Failure)) {
        throw error;
      }
      tell(`bobtail: no ${'html' in attempt ? 'HTML ' : ''}report: ${error.message}`);
    }
  }
}

interface ReportFlags {
  tail?: string;
  html?: string;
  json?: boolean;
  markdown?: string | true;
  md?: boolean;
  failOn: string[];
  junit?: string;
  quiet: boolean;
}

function addReport(program: Command): void {
  program
    .command('report')
    .summary('explain a recording: percentiles, causes, culprits, what to do')
    .description('Says why the slowest requests of a recording were slow, and what to do.')
    .argument('<folder>', 'the recording')
    .option('--tail <percentile>', 'where the tail begins (default: 99.9)')
    .option('--html <file>', 'write the answer as an HTML page')
    .addOption(new Option('--json', 'the answer as JSON').conflicts('md'))
    .option('--markdown [file]', 'the answer as Markdown, or Markdown in a file beside it')
    .addOption(new Option('--md', 'as --markdown').conflicts('markdown'))
    .option(
      '--fail-on <gate>',
      'exit 75 unless it is kept, such as p99.9<50ms; again for more',
      collect,
      [],
    )
    .option('--junit <file>', 'write what came of the gates as JUnit XML')
    .option('-q, --quiet', 'no progress', false)
    .action(async (folder: string, flags: ReportFlags) => {
      const { parseGate } = await import('../gates/gate');
      const gates = flags.failOn.map(parseGate);
      requireGates(gates, flags.junit);
      const { report } = await import('./report/report');
      await report({
        folder,
        ...(flags.tail === undefined ? {} : { percentile: parsePercentile(flags.tail, '--tail') }),
        ...(flags.html === undefined ? {} : { html: flags.html }),
        format: reportFormat(flags),
        gates,
        ...(flags.junit === undefined ? {} : { junit: flags.junit }),
        ...(typeof flags.markdown === 'string' ? { markdownFile: flags.markdown } : {}),
        quiet: flags.quiet,
      });
    });
}

/** JUnit XML without a gate would be green whatever was measured. */
function requireGates(gates: readonly unknown[], junit: string | undefined): void {
  if (junit !== undefined && gates.length === 0) {
    throw new Failure('usage', '--junit needs a gate: --fail-on', junit);
  }
}

function reportFormat(flags: ReportFlags): 'json' | 'markdown' | 'text' | undefined {
  const { json, md, markdown, html } = flags;
  if (json && markdown === true) {
    throw new Failure('usage', '--json and --markdown without a file go not together');
  }
  if (json) {
    return 'json';
  }
  if (md || markdown === true) {
    return 'markdown';
  }
  return html === undefined ? 'text' : undefined;
}

interface ExplainFlags {
  slowest?: string;
  request?: string;
  events: boolean;
  json?: boolean;
  quiet: boolean;
}

function addExplain(program: Command): void {
  program
    .command('explain')
    .summary('one request, segment by segment')
    .description('Shows the critical path of one request and what each piece of it waited for.')
    .argument('<folder>', 'the recording')
    .addOption(
      new Option('--slowest <n>', 'the n-th slowest request (default: 1)').conflicts('request'),
    )
    .option('--request <id>', 'the request with this id, such as 4121-0:17')
    .option('--events', 'also list the events', false)
    .option('--json', 'the answer as JSON')
    .option('-q, --quiet', 'no progress', false)
    .action(async (folder: string, flags: ExplainFlags) => {
      const { explain } = await import('./explain/explain');
      const which =
        flags.request === undefined
          ? { slowest: parseCount(flags.slowest ?? '1', '--slowest') }
          : { request: parseRequestId(flags.request) };
      const format = flags.json ? 'json' : 'text';
      await explain({ folder, which, format, events: flags.events, quiet: flags.quiet });
    });
}

interface DiffFlags {
  tail?: string;
  html?: string;
  json?: boolean;
  markdown?: boolean;
  failOn: string[];
  junit?: string;
  quiet: boolean;
}

function addDiff(program: Command): void {
  program
    .command('diff')
    .summary('two recordings: what moved, and how sure that is')
    .description('Says what moved from recording A to recording B, beyond the noise of each.')
    .argument('<a>', 'the recording before')
    .argument('<b>', 'the recording after')
    .option('--tail <percentile>', 'where the tail begins (default: 99.9)')
    .option('--html <file>', 'write the answer as an HTML page')
    .addOption(new Option('--json', 'the answer as JSON').conflicts('markdown'))
    .option('--markdown', 'the answer as Markdown')
    .option('--fail-on <gate>', 'exit 75 unless it is kept, such as p99<+10%', collect, [])
    .option('--junit <file>', 'write what came of the gates as JUnit XML')
    .option('-q, --quiet', 'no progress', false)
    .action(async (a: string, b: string, flags: DiffFlags) => {
      const { parseDiffGate } = await import('../gates/diff-gate');
      const gates = flags.failOn.map(parseDiffGate);
      requireGates(gates, flags.junit);
      const { diff } = await import('./diff/diff');
      await diff({
        folders: [a, b],
        ...(flags.tail === undefined ? {} : { percentile: parsePercentile(flags.tail, '--tail') }),
        ...(flags.html === undefined ? {} : { html: flags.html }),
        format: diffFormat(flags),
        gates,
        ...(flags.junit === undefined ? {} : { junit: flags.junit }),
        quiet: flags.quiet,
      });
    });
}

function diffFormat({ json, markdown, html }: DiffFlags): 'json' | 'markdown' | 'text' | undefined {
  if (json) {
    return 'json';
  }
  if (markdown) {
    return 'markdown';
  }
  return html === undefined ? 'text' : undefined;
}

function addTune(program: Command): void {
  program
    .command('tune')
    .summary('find V8 heap flags that cut the tail, and prove that they do')
    .usage('[options] --on-port <command> -- <command...>')
    .description('Races V8 heap flags against the service as it is, and proves the best of them.')
    .argument('<command...>', 'the service, best after --')
    .passThroughOptions()
    .requiredOption('--on-port <command>', 'the load, run with $PORT in every round')
    .option('--memory <size>', "what the service may use (default: the container's limit)")
    .addOption(
      new Option('--objective <which>', 'what is to become less')
        .choices(['tail', 'cpu'])
        .default('tail'),
    )
    .option('--rounds <n>', 'rounds of each race, at most', '10')
    .option('--proof-rounds <n>', 'rounds of the proof; fewer than 8 prove nothing', '12')
    .option('--try <flags>', 'try these instead, such as "--max-semi-space-size=32"', collect, [])
    .option('--warmup <seconds>', 'leave this time after listening out of each round')
    .option('--duration <seconds>', 'stop a round this long after the server listens')
    .option('--seed <n>', 'order of the arms in each round (default: another one each time)')
    .option('--json', 'the answer as JSON')
    .option('-q, --quiet', 'no progress', false)
    .action(async (command: string[], flags: TuneFlags) => {
      const { parseTuneRequest } = await import('./tune/request');
      const request = parseTuneRequest(command, flags);
      const { tune } = await import('./tune/tune');
      await tune(request);
    });
}

function addExport(program: Command): void {
  program
    .command('export')
    .summary('a recording as a file of another tool')
    .description('Writes what was recorded for a tool you already use.')
    .usage('<folder> --to <format> <file> [options]')
    .argument('<folder>', 'the recording')
    .argument('[file]', 'where to write it')
    .addOption(new Option('--format <format>', 'as --to <format>').choices(FORMAT_NAMES))
    .option('-o, --out <path>', 'as <file>')
    .option('--tail <percentile>', 'the tail, and where it begins (default: 99.9)')
    .addOption(new Option('--all', 'every request').default(false).conflicts('tail'))
    .addOption(new Option('--slowest <n>', 'so many of the slowest').conflicts(['tail', 'all']))
    .addOption(
      new Option('--request <id...>', 'those with these ids, such as 4121-0:17').conflicts([
        'tail',
        'all',
        'slowest',
      ]),
    )
    .option('--route <route>', 'those of this route, as the report has it')
    .option('--from <seconds>', 'those under way after so long')
    .option(
      '--to <format|seconds>',
      `the format (${FORMAT_NAMES.join(', ')}); or those under way before so long`,
      collect,
      [],
    )
    .option('--service <name>', 'otlp: the service.name of the spans')
    .option('-q, --quiet', 'no progress, no summary', false)
    .action(async (folder: string, file: string | undefined, flags: ExportFlags) => {
      const choice = parseExport(file, flags);
      const { runExport } = await import('./export/export');
      await runExport({ folder, ...choice, quiet: flags.quiet });
    });
}

interface BoostFlags extends DriveFlags, ProveFlags {
  metrics?: string;
  otlp?: string;
  out?: string;
}

function addBoost(program: Command): void {
  program
    .command('boost')
    .summary('run a command with a policy at a lever of this host')
    .usage('[options] -- <command...>')
    .description('Runs a command unchanged and raises its speed when its tail is at stake.')
    .argument('<command...>', 'the command, best after --')
    .passThroughOptions()
    .addOption(
      new Option(
        '--policy <policy>',
        'gc-boost, queue-boost:k=3, combined, deadline, static:peak (docs/guide/boosting.md)',
      )
        .default('combined')
        .env('BOBTAIL_POLICY'),
    )
    .addOption(new Option('--actuator <lever>', 'the lever').choices(ACTUATORS).default('auto'))
    .option('--bobtaild <socket>', 'only through the bobtaild that listens there')
    .option('--frequencies <base,peak>', 'of cpufreq and emulated, in GHz (emulated: 2.6,4)')
    .option('--latency <duration>', 'emulated: how long a change takes, such as 500us')
    .option('--cpu <n>', 'the CPU that is moved (default: those the service may use)')
    .option('--budget <percent>', 'what looking may cost, of the busy time; or none', '1%')
    .option('--lever-root <folder>', 'a tree of files instead of /sys and /proc, for trying out')
    .option('--metrics <address>', 'serve metrics to Prometheus, such as 127.0.0.1:9464')
    .option('--otlp <url>', "send metrics to OpenTelemetry's receiver, over HTTP")
    .option('-o, --out <file>', 'write what it did as JSON')
    .option('--prove', 'say whether it helps, in turns with the service as it is', false)
    .option('--on-port <command>', 'with --prove: the load, run with $PORT in every round')
    .option('--rounds <n>', 'with --prove: fewer than 8 prove nothing (default: 12)')
    .option('--warmup <seconds>', 'with --prove: leave this time out of each round')
    .option('--duration <seconds>', 'with --prove: stop a round after so long under load')
    .option('--seed <n>', 'with --prove: order of the arms (default: another each time)')
    .option('--json', 'with --prove: the answer as JSON')
    .option('-q, --quiet', 'no progress, no summary', false)
    .action(async (command: string[], flags: BoostFlags) => {
      const { parseDrive, parseLever, parseListeners, parseProve } = await import('./boost/flags');
      const [drive, lever] = [parseDrive(flags), parseLever(flags)];
      const proof = parseProve(command, drive, lever, flags);
      if (proof !== undefined) {
        const { proveBoost } = await import('./boost/prove');
        await proveBoost(proof);
        return;
      }
      const listeners = parseListeners(flags);
      const { boost } = await import('./boost/boost');
      const { out, quiet } = flags;
      const version = readVersion();
      const more = { listeners, version, quiet, ...(out === undefined ? {} : { out }) };
      await boost({ command, drive, lever, ...more });
    });
}

interface DoctorFlags {
  tryEmulated: boolean;
  leverRoot?: string;
  json?: boolean;
}

function addDoctor(program: Command): void {
  program
    .command('doctor')
    .summary('what this machine and this Node.js allow to record, and to boost')
    .usage('[options] [-- <node...>]')
    .description(
      'Starts a Node.js under the probe, tries every lever, and says what works and why not.',
    )
    .argument('[node...]', 'the Node.js to try (default: the one that runs bobtail)')
    .passThroughOptions()
    .option('--try-emulated', 'also the imitated frequency, which slows a CPU for a second', false)
    .option('--lever-root <folder>', 'a tree of files instead of /sys and /proc, for trying out')
    .option('--json', 'the answer as JSON')
    .action(async (command: string[], flags: DoctorFlags) => {
      const { doctor } = await import('./doctor/doctor');
      const { leverRoot: root, tryEmulated: emulated, json } = flags;
      const levers = { emulated, ...(root === undefined ? {} : { root: resolve(root) }) };
      await doctor({ command, levers, format: json ? 'json' : 'text' });
    });
}
