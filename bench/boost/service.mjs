// A service whose driver shares a lever with others, on the core of the servers.
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { canonicalPolicy } from '../../packages/bobtail/dist/cli/analysis.js';
import { readDriverFiles } from '../../packages/bobtail/dist/cli/boost/driver-file.js';
import { boostEnv } from '../../packages/bobtail/dist/cli/boost/environment.js';
import { memoryPlace } from '../../packages/bobtail/dist/cli/boost/memory-place.js';
import { summarize } from '../../packages/bobtail/dist/cli/boost/summary.js';
import { cpuNs, cpuNsOn, descendants, LOAD_CORE, SERVER_CORE, threadNs } from '../harness/cpu.mjs';
import { Connections } from '../harness/open-loop.mjs';
import { driversFirst } from './drivers.mjs';
import { Running } from './running.mjs';
import { NotDriven } from './shared-lever.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
export const CONNECTIONS = 64;
/** A driver tells once a second what it did. */
const TOLD_MS = 1500;

/** V8's helpers are on the load's core and go before it there (`services/v8-workers.cjs`). */
const V8_ASIDE = { V8_HELPERS: `cpu:${LOAD_CORE}` };

/** The script of a service by its name. */
export function scriptOf(service) {
  return join(here, 'services', `${service}.cjs`);
}

/** What a service is told, beside what its databases are; no `workers` is one process. */
export function serviceEnv({ seed, workers = 0, environment }) {
  return { ...V8_ASIDE, ...environment, SEED: String(seed), WORKERS: String(workers) };
}

/** What a service takes of its core; `pids()` are its processes. */
export class Service {
  /** CPU time of the loops' own threads. */
  loopNs() {
    return this.#sum((pid) => threadNs(pid, pid));
  }

  /** CPU time of what shares the servers' core: the loops and the pool, not V8's helpers. */
  coreNs() {
    return this.#sum((pid) => cpuNsOn(pid, SERVER_CORE));
  }

  /** CPU time of all its processes. */
  cpuNs() {
    return this.#sum(cpuNs);
  }

  #sum(figure) {
    return this.pids().reduce((sum, pid) => sum + figure(pid), 0);
  }
}

/** A service under a policy; `flags` are of its Node. */
export class BoostedService extends Service {
  static async start({ service, policy, flags = [], seed, workers, node, environment, drive }) {
    const folder = mkdtempSync(join(memoryPlace(), 'bobtail-bench-boost-'));
    const told = { ...drive, policy: canonicalPolicy(policy) };
    const env = { ...boostEnv(folder, told), ...serviceEnv({ seed, workers, environment }) };
    let running;
    try {
      const where = { env, core: SERVER_CORE, node };
      running = await Running.start([...flags, scriptOf(service)], where);
      const connections = await Connections.open(running.port, CONNECTIONS);
      if (driversFirst(running.child.pid) === 0) throw new NotDriven('it has no driver');
      return Object.assign(new BoostedService(), { folder, drive: told, running, connections });
    } catch (error) {
      await running?.stop();
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

  pids() {
    const { pid } = this.running.child;
    return [pid, ...descendants(pid)];
  }

  async stop() {
    this.connections.close();
    await this.running.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
