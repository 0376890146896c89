/** What was typed behind `tune`, checked. */
import { randomInt } from 'node:crypto';
import { splitOptions } from '../../agent/heap';
import type { Objective } from '../../prove/verdict';
import { type Budget, readBudget } from '../../tune/budget';
import { Failure } from '../failure';
import { parseRounds, parseSpan, SEED_MAX } from '../proof/flags';
import { parseCount, parseSizeBytes } from '../quantity';
import type { TuneRequest } from './tune';

/** As the parser of the command line gives them. */
export interface TuneFlags {
  readonly onPort: string;
  readonly memory?: string;
  readonly objective: Objective;
  readonly rounds: string;
  readonly proofRounds: string;
  readonly try: readonly string[];
  readonly warmup?: string;
  readonly duration?: string;
  readonly seed?: string;
  readonly json?: boolean;
  readonly quiet: boolean;
}

/** Throws a `Failure` for what cannot be meant. */
export function parseTuneRequest(command: readonly string[], flags: TuneFlags): TuneRequest {
  if (flags.onPort.trim() === '') throw new Failure('usage', '--on-port needs a command');
  return {
    subject: { command, onPort: flags.onPort, ...parseSpan(flags.warmup, flags.duration) },
    budget: parseBudget(flags.memory),
    objective: flags.objective,
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

function parseTry(text: string): string[] {
  const flags = splitOptions(text);
  if (flags.length === 0) throw new Failure('usage', '--try needs flags');
  return flags;
}
