/**
 * The flags that a Node has, asked of that very binary: V8's flags come and go with its versions,
 * and an unknown one ends the process.
 */
import { execFile } from 'node:child_process';
import { Failure, reasonOf } from '../cli/failure';
import { plain } from '../cli/text/plain';

/** Names without dashes in front and without `no-`, such as `max-semi-space-size`. */
export interface NodeFlags {
  readonly v8: ReadonlySet<string>;
  /** Those that `NODE_OPTIONS` may hold. */
  readonly inNodeOptions: ReadonlySet<string>;
}

const ANSWER_BYTES_MAX = 16 * 2 ** 20;
const ANSWER_MS_MAX = 30_000;

/** Asks `node`, the path of a binary. Rejects with a `Failure` where it does not answer. */
export async function readNodeFlags(node: string): Promise<NodeFlags> {
  const script = 'process.stdout.write([...process.allowedNodeEnvironmentFlags].join("\\n"))';
  const [v8, allowed] = await Promise.all([ask(node, ['--v8-options']), ask(node, ['-e', script])]);
  return { v8: parseV8Options(v8), inNodeOptions: new Set(allowed.split('\n').map(flagName)) };
}

/** Names out of what `node --v8-options` prints. */
export function parseV8Options(text: string): ReadonlySet<string> {
  const options = text.slice(text.indexOf('Options:'));
  return new Set(
    [...options.matchAll(/^ {2}--([\w-]+) \(/gm)].map(([, name = '']) => flagName(name)),
  );
}

/** `--no-opt`, `--max_semi_space_size=8` as `opt`, `max-semi-space-size`. */
export function flagName(flag: string): string {
  const [name = ''] = flag.replace(/^-+/, '').replaceAll('_', '-').split('=');
  return name.replace(/^no-?(?=[a-z])/, '');
}

/** Refuses flags that this Node does not have, or that cannot reach the service. */
export function checkFlags(
  flags: readonly string[],
  known: NodeFlags,
  where: { readonly version: string; readonly direct: boolean },
): void {
  for (const flag of flags) {
    const name = flagName(flag);
    if (!flag.startsWith('--') || !(known.v8.has(name) || known.inNodeOptions.has(name))) {
      throw new Failure('usage', `Node.js ${where.version} has no such flag`, plain(flag));
    }
    if (!where.direct && !known.inNodeOptions.has(name)) {
      const why = 'it cannot stand in NODE_OPTIONS, and the command is not node itself';
      throw new Failure('usage', `--try: ${why}`, plain(flag));
    }
  }
}

/**
 * Refuses flags with a value that this Node does not take: V8 tells of some and goes on without
 * them, which would be raced as a change. Rejects with a `Failure`.
 */
export async function checkValues(node: string, flags: readonly string[]): Promise<void> {
  const said = await stderrOf(node, [...flags, '-e', '0']);
  // Of what follows much is about flags that nobody typed.
  const [problem] = said.split('\n').filter((line) => /^Error: .*\bflag\b/.test(line));
  if (problem === undefined) return;
  throw new Failure('usage', `--try: ${plain(problem.slice('Error: '.length))}`, flags.join(' '));
}

/** Also of one that a flag ends, such as a heap too small to start. */
function stderrOf(node: string, args: readonly string[]): Promise<string> {
  const options = { env: plainEnv(), maxBuffer: ANSWER_BYTES_MAX, timeout: ANSWER_MS_MAX };
  return new Promise((resolve) => {
    execFile(node, args, options, (_error, _stdout, stderr) => resolve(stderr));
  });
}

function plainEnv(): NodeJS.ProcessEnv {
  const env = { ...process.env };
  delete env.NODE_OPTIONS;
  return env;
}

function ask(node: string, args: readonly string[]): Promise<string> {
  const options = { env: plainEnv(), maxBuffer: ANSWER_BYTES_MAX, timeout: ANSWER_MS_MAX };
  return new Promise((resolve, reject) => {
    execFile(node, args, options, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(new Failure('unsupported', `cannot ask for its flags: ${reasonOf(error)}`, node));
    });
  });
}
