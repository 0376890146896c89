// Recordings of the services at a frequency that another process holds.
//
// A recorded loop cannot be boosted as well: both want its hooks. So a server that nobody asks
// holds the frequency of the servers' core while the service is recorded there.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { recordWhole } from '../harness/bobtail.mjs';
import { SERVER_CORE } from '../harness/cpu.mjs';
import { scriptOf, serviceEnv } from './service.mjs';
import { SharedLever } from './shared-lever.mjs';
import { WARM_UP_MS } from './warm.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const POLICIES = { 2.6: 'static:base', 3.3: 'static:3.3', 4: 'static:peak' };

/** Frequencies in GHz that can be held. */
export const FREQUENCIES = Object.keys(POLICIES);

/** Does `take()` while the servers' core has this frequency. Throws a `NotDriven`. */
export async function atFrequency(ghz, take) {
  const lever = await SharedLever.start('20us');
  try {
    const held = await lever.hold(POLICIES[ghz]);
    try {
      return await take();
    } finally {
      await held.stop();
    }
  } finally {
    await lever.stop();
  }
}

/**
 * Records a service under its open load into `folder`, which is there only when it is whole.
 * `seed` is of the load, which lasts for `seconds` after it was warmed up; `flags` are of its Node.
 */
export async function record({ service, folder, node, flags = [], environment, ...more }) {
  const { ratePerS, seconds, seed } = more;
  const sent = [
    process.execPath,
    '--single-threaded-gc',
    join(here, 'load.mjs'),
    ratePerS,
    seconds,
    seed,
  ];
  const command = ['taskset', '-c', String(SERVER_CORE), node, ...flags, scriptOf(service)];
  const how = ['--warmup', String(WARM_UP_MS / 1000), '--on-port', sent.join(' ')];
  const env = serviceEnv({ seed: seed * 1000 + 7, environment });
  await recordWhole(folder, how, command, { env: { ...process.env, ...env } });
}
