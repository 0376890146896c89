/** How a process gets the agent: the environment it is started with. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../failure';
import type { Bursts, RunFile } from '../json/run';
import { withAgent } from './node-options';

const PACKAGE_FOLDER = join(__dirname, '..', '..', '..');
/** Where the entries that are loaded into processes are. */
export const AGENT_FOLDER = join(PACKAGE_FOLDER, 'dist', 'agent');
const AGENT_PATH = join(AGENT_FOLDER, 'preload.js');
const NS_PER_MS = 1e6;
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

/** The environment of a recorded command: `env`, and the agent with its settings. */
export function recordingEnv(
  folder: string,
  run: Pick<RunFile, 'detail' | 'maxBytes' | 'maxTotalBytes' | 'bursts' | 'notRunning'>,
  env: NodeJS.ProcessEnv = process.env,
): NodeJS.ProcessEnv {
  return {
    ...env,
    NODE_OPTIONS: withAgent(env.NODE_OPTIONS, AGENT_PATH),
    BOBTAIL_DIR: folder,
    BOBTAIL_DETAIL: run.detail,
    BOBTAIL_MAX_BYTES: String(run.maxBytes),
    BOBTAIL_MAX_TOTAL_BYTES: String(run.maxTotalBytes),
    ...(run.bursts === null ? {} : { BOBTAIL_BURSTS: burstsInMs(run.bursts) }),
    ...(run.notRunning ? { BOBTAIL_NOT_RUNNING: '1' } : {}),
    BOBTAIL_PARENT_PID: String(process.pid),
  };
}

/** As the agent reads it: `60000/2000`. */
function burstsInMs({ everyNs, forNs }: Bursts): string {
  return `${everyNs / NS_PER_MS}/${forNs / NS_PER_MS}`;
}
