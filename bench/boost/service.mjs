// A service whose driver shares a lever with others, on the core of the servers.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { canonicalPolicy } from '../../packages/bobtail/dist/cli/analysis.js';
import { readDriverFiles } from '../../packages/bobtail/dist/cli/boost/driver-file.js';
import { boostEnv } from '../../packages/bobtail/dist/cli/boost/environment.js';
import { summarize } from '../../packages/bobtail/dist/cli/boost/summary.js';
import { cpuNs, descendants, LOAD_CORE, SERVER_CORE, sumOver, threadNs } from '../harness/cpu.mjs';
import { Connections } from '../harness/open-loop.mjs';
import { Running } from './running.mjs';
import { NotDriven } from './shared-lever.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
export const CONNECTIONS = 64;
/** A driver tells once a second what it did. */
const TOLD_MS = 1500;

/** V8's helpers are on the load's core and give way there (`services/v8-workers.cjs`). */
export const V8_ASIDE = { V8_HELPERS: `cpu:${LOAD_CORE}` };

/** A service under a policy; `flags` are of its Node. */
export class BoostedService {
  static async start({ service, policy, flags = [], seed, workers, node, environment, drive }) {
    const folder = mkdtempSync(join(tmpdir(), 'bobtail-bench-boost-'));
    const told = { ...drive, policy: canonicalPolicy(policy) };
    const env = {
      ...V8_ASIDE,
      ...environment,
      SEED: String(seed),
      WORKERS: String(workers),
    };
    const script = join(here, 'services', `${service}.cjs`);
    try {
      const where = { env: { ...boostEnv(folder, told), ...env }, core: SERVER_CORE, node };
      const running = await Running.start([...flags, script], where);
      const connections = await Connections.open(running.port, CONNECTIONS);
      return Object.assign(new BoostedService(), { folder, drive: told, running, connections });
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** What its drivers did until now (`bobtail boost --out`). Throws a `NotDriven`. */
  async driven() {
    await sleep(TOLD_MS);
    const summary = summarize(this.drive, readDriverFiles(this.folder));
    if (summary.refused !== null) throw new NotDriven(summary.refused);
    return summary;
  }

  /** CPU time of the loops' own threads. */
  loopNs() {
    return sumOver(this.#pids(), (pid) => threadNs(pid, pid));
  }

  /** CPU time of all processes of the service. */
  cpuNs() {
    return sumOver(this.#pids(), cpuNs);
  }

  #pids() {
    const { pid } = this.running.child;
    return [pid, ...descendants(pid)];
  }

  async stop() {
    this.connections.close();
    await this.running.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
