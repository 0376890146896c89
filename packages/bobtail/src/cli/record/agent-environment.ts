/** How a process gets the agent: the environment it is started with. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../failure';
import type { RunFile } from '../json/run';
import { withAgent } from './node-options';

const PACKAGE_FOLDER = join(__dirname, '..', '..', '..');
const AGENT_PATH = join(PACKAGE_FOLDER, 'dist', 'agent', 'preload.js');
const PROBE_PATH = join(PACKAGE_FOLDER, 'native', 'bobtail-probe.node');

/** Refuses what cannot be recorded whatever the command is. */
export function checkAgent(): void {
  if (process.platform !== 'linux') {
    throw new Failure('unsupported', 'record runs on Linux only', process.platform);
  }
  if (!existsSync(AGENT_PATH)) {
    throw new Failure('internal', 'incomplete installation: no agent', AGENT_PATH);
  }
  if (!existsSync(PROBE_PATH)) {
    const host = `${process.platform}-${process.arch}`;
    throw new Failure('unsupported', `no probe was built for ${host}`, PROBE_PATH);
  }
}

/** The environment of a recorded command: the user's, and the agent with its settings. */
export function recordingEnv(
  folder: string,
  run: Pick<RunFile, 'detail' | 'maxBytes'>,
): NodeJS.ProcessEnv {
  return {
    ...process.env,
    NODE_OPTIONS: withAgent(process.env.NODE_OPTIONS, AGENT_PATH),
    BOBTAIL_DIR: folder,
    BOBTAIL_DETAIL: run.detail,
    BOBTAIL_MAX_BYTES: String(run.maxBytes),
    BOBTAIL_PARENT_PID: String(process.pid),
  };
}
