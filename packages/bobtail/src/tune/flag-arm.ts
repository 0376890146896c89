/**
 * An arm that starts a service with more V8 flags.
 *
 * When the command is `node` itself they go behind it, where every flag may stand; else into
 * `NODE_OPTIONS`, which reaches through npm and shells but takes few of them.
 */
import { basename } from 'node:path';
import { heapFlags } from '../agent/heap';
import type { RecordedProcess } from '../cli/record/agent-files';
import type { Arm, Invocation } from '../prove/arm';
import { flagName } from './node-flags';

/** An arm with flags. */
export interface FlagArm extends Arm {
  readonly flags: readonly string[];
}

/** Whether flags can stand in the command. */
export function isNode(command: readonly string[]): boolean {
  return /^(node|nodejs)$/.test(basename(command[0] ?? ''));
}

/** The service with `flags`, which are named as the arm is. */
export function flagArm(flags: readonly string[]): FlagArm {
  return {
    name: flags.join(' '),
    flags,
    start: (service) => withFlags(service, flags),
    missing: (processes) => missingFlag(processes, flags),
  };
}

/** The invocation with flags that win over those it has. */
export function withFlags(service: Invocation, flags: readonly string[]): Invocation {
  const { command, env } = service;
  if (isNode(command)) {
    const at = behindHeapFlags(command);
    return { command: [...command.slice(0, at), ...flags, ...command.slice(at)], env };
  }
  const options = [env.NODE_OPTIONS?.trimEnd() ?? '', ...flags].filter((one) => one !== '');
  return { command, env: { ...env, NODE_OPTIONS: options.join(' ') } };
}

/** Options of Node that take the next word as their value. */
const TAKES_WORD = new Set(['-r', '--require', '--import', '--loader', '-C', '--conditions']);

/** Behind the last heap flag of the user, since the last of two wins; else right behind node. */
function behindHeapFlags(command: readonly string[]): number {
  let at = 1;
  for (let index = 1; index < command.length; index += 1) {
    const word = command[index] ?? '';
    if (!word.startsWith('-')) break;
    const value = command[index + 1] ?? '';
    const [flag] = heapFlags([word, value]);
    const takesWord = TAKES_WORD.has(word) || (flag !== undefined && flag !== word);
    if (takesWord) index += 1;
    if (flag !== undefined) at = index + 1;
  }
  return at;
}

/** A service that sets its own flags, or starts Node with a clean environment, was not changed. */
function missingFlag(
  processes: readonly RecordedProcess[],
  flags: readonly string[],
): string | undefined {
  const had = processes.map((one) => lastByName(one.heap?.flags ?? []));
  for (const flag of heapFlags(flags)) {
    if (had.some((one) => one.get(flagName(flag)) === flag)) continue;
    const own = had.map((one) => one.get(flagName(flag))).find((one) => one !== undefined);
    const why = own === undefined ? '' : `; it has ${own}`;
    return `${flag} did not reach the service${why}`;
  }
  return undefined;
}

function lastByName(flags: readonly string[]): ReadonlyMap<string, string> {
  return new Map(flags.map((flag) => [flagName(flag), flag]));
}
