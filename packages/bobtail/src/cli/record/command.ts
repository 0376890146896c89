/**
 * The command to record, looked at before it is started.
 *
 * When it is `node` itself its version is asked, so that a Node that cannot be recorded is refused
 * before the service runs; npm, shells and the like can only be judged by what they start.
 */
import { execFile } from 'node:child_process';
import { basename } from 'node:path';
import { Failure, hasCode, reasonOf } from '../failure';
import { NODE_MAJOR_MIN } from '../node-version';

const VERSION_TIMEOUT_MS = 5_000;

/** Version of the command's Node (`v24.1.0`); undefined when the command is not `node`. */
export async function nodeVersionOf(command: readonly string[]): Promise<string | undefined> {
  const file = command[0] ?? '';
  return /^(node|nodejs)$/.test(basename(file)) ? askVersion(file) : undefined;
}

/** Runs `<file> --version`; undefined when it does not answer like Node. */
export function askVersion(file: string): Promise<string | undefined> {
  const env = { ...process.env };
  delete env.NODE_OPTIONS;
  return new Promise((resolve, reject) => {
    execFile(file, ['--version'], { env, timeout: VERSION_TIMEOUT_MS }, (error, stdout) => {
      if (hasCode(error, 'ENOENT') || hasCode(error, 'EACCES')) {
        reject(startFailure(error, file));
      } else {
        resolve(/^v\d+\.\d+\.\d+/.exec(stdout)?.[0]);
      }
    });
  });
}

/** Refuses versions the agent does not run on. */
export function checkNodeVersion(version: string): void {
  const reason = tooOld(version);
  if (reason !== undefined) {
    throw new Failure('unsupported', reason);
  }
}

/** Why a version cannot be recorded; undefined when it can. */
export function tooOld(version: string): string | undefined {
  const major = Number(/^v(\d+)/.exec(version)?.[1]);
  return major < NODE_MAJOR_MIN
    ? `Node.js ${NODE_MAJOR_MIN} or newer is needed (${version})`
    : undefined;
}

/** Why `file` could not be started, with the exit codes shells use. */
export function startFailure(error: unknown, file: string): Failure {
  if (hasCode(error, 'ENOENT')) {
    return new Failure('notFound', 'command not found', file);
  }
  if (hasCode(error, 'EACCES') || hasCode(error, 'ENOEXEC')) {
    return new Failure('notExecutable', `cannot run: ${reasonOf(error)}`, file);
  }
  return new Failure('notExecutable', `cannot run: ${reasonOf(error)}`, file);
}
