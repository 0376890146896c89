/** What was typed behind `tune`, checked. */
import { randomInt } from 'node:crypto';
import { splitOptions } from '../../agent/heap';
import { type Budget, readBudget } from '../../tune/budget';
import { ROUNDS_MAX } from '../analysis';
import { Failure } from '../failure';
import { parseCount, parseDurationNs, parseSizeBytes } from '../quantity';
import type { TuneRequest } from './tune';

/** As the parser of the command line gives them. */
export interface TuneFlags {
  readonly onPort: string;
  readonly memory?: string;
  readonly rounds: string;
  readonly proofRounds: string;
  readonly try: readonly string[];
  readonly warmup?: string;
  readonly duration?: string;
  readonly seed?: string;
  readonly json?: boolean;
  readonly quiet: boolean;
}

const SEED_MAX = 2 ** 31;

/** Throws a `Failure` for what cannot be meant. */
export function parseTuneRequest(command: readonly string[], flags: TuneFlags): TuneRequest {
  if (flags.onPort.trim() === '') throw new Failure('usage', '--on-port needs a command');
  const warmupNs = flags.warmup === undefined ? 0 : parseDurationNs(flags.warmup, '--warmup');
  const durationNs =
    flags.duration === undefined ? undefined : parseDurationNs(flags.duration, '--duration');
  if (durationNs !== undefined && durationNs <= warmupNs) {
    throw new Failure('usage', '--duration must be longer than --warmup', flags.duration);
  }
  return {
    subject: {
      command,
      onPort: flags.onPort,
      warmupNs,
      ...(durationNs === undefined ? {} : { durationNs }),
    },
    budget: parseBudget(flags.memory),
    rounds: parseRounds(flags.rounds, '--rounds'),
    proofRounds: parseRounds(flags.proofRounds, '--proof-rounds'),
    seed: flags.seed === undefined ? randomInt(1, SEED_MAX) : parseCount(flags.seed, '--seed'),
    tries: flags.try.map(parseTry),
    format: flags.json ? 'json' : 'text',
    quiet: flags.quiet,
  };
}

function parseBudget(memory: string | undefined): Budget {
  return memory === undefined
    ? readBudget()
    : { bytes: parseSizeBytes(memory, '--memory'), source: 'option' };
}

function parseRounds(text: string, option: string): number {
  const rounds = parseCount(text, option);
  if (rounds > ROUNDS_MAX) {
    throw new Failure('usage', `${option} takes at most ${ROUNDS_MAX} rounds`, text);
  }
  return rounds;
}

function parseTry(text: string): string[] {
  const flags = splitOptions(text);
  if (flags.length === 0) throw new Failure('usage', '--try needs flags');
  return flags;
}
