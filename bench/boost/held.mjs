// Recordings of the services at a frequency that another process holds.
//
// A recorded loop cannot be boosted as well: both want its hooks. So `boost --policy static:F` runs
// around a server that nobody asks, on the servers' core, while the service is recorded there.
import { mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bobtailMeanwhile, MAIN } from '../harness/bobtail.mjs';
import { LOAD_CORE, SERVER_CORE } from '../harness/cpu.mjs';
import { Running } from './running.mjs';
import { WARM_UP_MS } from './warm.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const POLICIES = { 2.6: 'static:base', 3.3: 'static:3.3', 4: 'static:peak' };

/** Frequencies in GHz that can be held. */
export const FREQUENCIES = Object.keys(POLICIES);

/**
 * Holds the frequency of the servers' core until it is stopped, which tells whether it was held: a
 * lever whose speed is off, since the host took time while it was calibrated, drives nothing.
 */
export async function hold(ghz) {
  const folder = mkdtempSync(join(tmpdir(), 'bobtail-bench-held-'));
  const out = join(folder, 'boost.json');
  const lever = ['--actuator', 'emulated', '--cpu', String(SERVER_CORE)];
  const policy = ['--policy', POLICIES[ghz], '--quiet', '--out', out];
  const server = ['taskset', '-c', String(LOAD_CORE), process.execPath, join(here, 'idle.mjs')];
  const args = [MAIN, 'boost', ...lever, ...policy, '--', ...server];
  const running = await Running.start(args, { env: {}, core: LOAD_CORE });
  const stop = async () => {
    await running.stop();
    const { refused } = JSON.parse(readFileSync(out, 'utf8'));
    rmSync(folder, { recursive: true });
    return refused === null;
  };
  return { stop };
}

/**
 * Records a service under its open load into `folder`, which is there only when it is whole.
 * `seed` is of the load, which lasts for `seconds` after it was warmed up; `flags` are of its Node.
 */
export async function record({ service, folder, node, flags = [], environment, ...load }) {
  const { ratePerS, seconds, seed } = load;
  const sent = [
    process.execPath,
    '--single-threaded-gc',
    join(here, 'load.mjs'),
    ratePerS,
    seconds,
    seed,
  ];
  const script = join(here, 'services', `${service}.cjs`);
  const command = ['taskset', '-c', String(SERVER_CORE), node, ...flags, script];
  const how = ['--warmup', String(WARM_UP_MS / 1000), '--no-report', '--no-html', '--quiet'];
  const where = ['--out', `${folder}.part`, '--on-port', sent.join(' ')];
  rmSync(`${folder}.part`, { recursive: true, force: true });
  const env = { ...environment, SEED: String(seed * 1000 + 7) };
  await bobtailMeanwhile(['record', ...how, ...where, '--', ...command], env);
  renameSync(`${folder}.part`, folder);
}
