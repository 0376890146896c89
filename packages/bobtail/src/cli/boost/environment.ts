/** The environment of a boosted command: the agent, where it tells, and what it drives. */
import { join } from 'node:path';
import type { DriveOptions } from '../../agent/boost/settings';
import { AGENT_FOLDER } from '../record/agent-environment';
import { withAgent } from '../record/node-options';

/**
 * `env` with all that; processes tell what they do in `folder`. Without anything to drive they only
 * tell latencies.
 */
export function boostEnv(
  folder: string,
  drive: DriveOptions | null,
  env: NodeJS.ProcessEnv = process.env,
): NodeJS.ProcessEnv {
  const agent = join(AGENT_FOLDER, 'boost', 'preload.js');
  return {
    ...env,
    NODE_OPTIONS: withAgent(env.NODE_OPTIONS, agent),
    BOBTAIL_BOOST_DIR: folder,
    BOBTAIL_BOOST: JSON.stringify(drive),
  };
}

/** An environment as `boostEnv` makes it, of processes that tell where they listen, too. */
export function tellingListening(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, BOBTAIL_BOOST_LISTENING: '1' };
}
