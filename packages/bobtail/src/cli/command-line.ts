/**
 * The verbs and their options: what may be typed, and what it means.
 *
 * Everything after `--`, or after the first word that is no option, belongs to the recorded command
 * and is not looked at.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, CommanderError, Option } from 'commander';
import { Failure } from './failure';
import type { Detail } from './json/run';
import { parseCount, parseDurationNs, parsePercentile, parseSizeBytes } from './quantity';

const MAX_SIZE_DEFAULT = '512m';

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

function buildProgram(): Command {
  const program = new Command('bobtail')
    .description('Explains the tail latency of a Node.js service, request by request.')
    .version(readVersion(), '-V, --version')
    .enablePositionalOptions()
    .helpCommand(false);
  addRecord(program);
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
  detail: Detail;
  maxSize: string;
  bestEffort: boolean;
  report?: boolean;
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
    .addOption(
      new Option('--detail <detail>', 'what to record').choices(['full', 'loop']).default('full'),
    )
    .option('--max-size <size>', 'bound of each trace file', MAX_SIZE_DEFAULT)
    .option('--best-effort', 'run the service unrecorded when it cannot be recorded', false)
    .option('--no-report', 'after --on-port or --duration: do not print the report')
    .option('-q, --quiet', 'no progress, no summary', false)
    .action(async (command: string[], flags: RecordFlags) => {
      const warmupNs = flags.warmup === undefined ? 0 : parseDurationNs(flags.warmup, '--warmup');
      const durationNs =
        flags.duration === undefined ? undefined : parseDurationNs(flags.duration, '--duration');
      if (durationNs !== undefined && durationNs <= warmupNs) {
        throw new Failure('usage', '--duration must be longer than --warmup', flags.duration);
      }
      const { record } = await import('./record/record');
      const recorded = await record({
        command,
        out: flags.out,
        ...(flags.onPort === undefined ? {} : { onPort: flags.onPort }),
        warmupNs,
        ...(durationNs === undefined ? {} : { durationNs }),
        detail: flags.detail,
        maxBytes: parseSizeBytes(flags.maxSize, '--max-size'),
        bestEffort: flags.bestEffort,
        quiet: flags.quiet,
      });
      void recorded;
    });
}
void parseCount;
void parsePercentile;
