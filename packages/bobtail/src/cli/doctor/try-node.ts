/**
 * Whether a Node can be recorded, found out by recording it.
 *
 * Reading versions would only tell what ought to work; a stripped binary or another libc shows when
 * the probe checks itself inside that very process.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Failure, hasCode, oneLine } from '../failure';
import { checkAgent, recordingEnv } from '../record/agent-environment';
import { type Mechanism, readRecordedProcesses } from '../record/agent-files';
import { startFailure } from '../record/command';

/** What was found out about one Node. */
export interface TriedNode {
  readonly command: readonly string[];
  readonly version: string | null;
  readonly execPath: string | null;
  /** Whether a service on it can be recorded; mechanisms may still be missing. */
  readonly ok: boolean;
  readonly reason: string | null;
  readonly mechanisms: readonly Mechanism[];
}

const TRIAL_TIMEOUT_MS = 20_000;
const TRIAL_BYTES_MAX = 16 * 2 ** 20;
/** Listens, answers one request to itself and ends. */
const TRIAL = `
const http = require('http');
console.log(process.version);
const server = http.createServer((request, response) => response.end());
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address();
  http.get({ port, host: '127.0.0.1' }, (response) => {
    response.resume().on('end', () => process.exit(0));
  });
});
`;

/** Starts `command` with a tiny server under the probe. */
export async function tryNode(command: readonly string[]): Promise<TriedNode> {
  const folder = mkdtempSync(join(tmpdir(), 'bobtail-doctor-'));
  try {
    checkAgent();
    return await tryIn(folder, command);
  } catch (error) {
    if (!(error instanceof Failure) || error.exitName === 'notFound') {
      throw error;
    }
    const unknown = { version: null, execPath: null, mechanisms: [] };
    return { command, ok: false, reason: error.message, ...unknown };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function tryIn(folder: string, command: readonly string[]): Promise<TriedNode> {
  const { stdout, stderr, ended } = await runTrial(folder, command);
  const version = /^v\d+\.\d+\.\d+\S*/m.exec(stdout)?.[0] ?? null;
  const [seen] = readRecordedProcesses(folder);
  const probe = seen?.mechanisms.find((one) => one.name === 'probe' && !one.ok);
  if (seen !== undefined && probe === undefined && ended === undefined) {
    const { execPath = null, mechanisms } = seen;
    return { command, version, execPath, ok: true, reason: null, mechanisms };
  }
  const told = /^bobtail: (.*)$/m.exec(stderr)?.[1];
  const reason =
    probe?.reason ??
    ended ??
    told ??
    (version === null ? 'not Node.js' : 'the agent did not start');
  const mechanisms = seen?.mechanisms ?? [];
  return { command, version, execPath: seen?.execPath ?? null, ok: false, reason, mechanisms };
}

interface Trial {
  readonly stdout: string;
  readonly stderr: string;
  /** How it ended, when not well. */
  readonly ended: string | undefined;
}

function runTrial(folder: string, command: readonly string[]): Promise<Trial> {
  const [file = '', ...args] = command;
  const env = recordingEnv(folder, {
    detail: 'full',
    maxBytes: TRIAL_BYTES_MAX,
    maxTotalBytes: TRIAL_BYTES_MAX,
    bursts: null,
    notRunning: true,
  });
  const options = { env, timeout: TRIAL_TIMEOUT_MS };
  return new Promise((resolve, reject) => {
    execFile(file, [...args, '-e', TRIAL], options, (error, stdout, stderr) => {
      if (hasCode(error, 'ENOENT') || hasCode(error, 'EACCES')) {
        reject(startFailure(error, file));
        return;
      }
      const how = error === null ? undefined : (error.signal ?? `exit code ${String(error.code)}`);
      const last = stderr.trim().split('\n').at(-1) ?? '';
      const ended = how === undefined ? undefined : oneLine(`ended with ${how}: ${last}`);
      resolve({ stdout, stderr, ended });
    });
  });
}
