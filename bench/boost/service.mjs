// A service under `bobtail boost`, on the core of the servers, and its end.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { MAIN } from '../harness/bobtail.mjs';
import {
  cpuNs,
  descendants,
  LOAD_CORE,
  onlyWhenIdle,
  ordinaryPriority,
  SERVER_CORE,
  threadNs,
} from '../harness/cpu.mjs';
import { listening } from '../harness/listening.mjs';
import { Connections } from '../harness/open-loop.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const CONNECTIONS = 64;
/** Characters that are kept of what a command writes to its standard error. */
const SAID_MAX = 10_000;
/** Between looks for counters that are told once a second. */
const FRESH_MS = 20;

/** A command that is told to stop, and killed with this process. */
export class Running {
  static async start(args, { env, core }) {
    const child = spawn('taskset', ['-c', String(core), process.execPath, ...args], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    ordinaryPriority(child.pid);
    const said = { text: '' };
    child.stderr.on('data', (chunk) => {
      said.text = (said.text + chunk).slice(-SAID_MAX);
    });
    const abandon = () => child.kill('SIGTERM');
    process.once('exit', abandon);
    try {
      return new Running(child, abandon, said, await listening(child));
    } catch (error) {
      child.kill('SIGTERM');
      process.off('exit', abandon);
      throw error;
    }
  }

  constructor(child, abandon, said, { port, pid }) {
    Object.assign(this, { child, abandon, said, port, pid });
  }

  /** Where `boost --metrics` tells what it does. */
  get metricsUrl() {
    return /metrics at (\S+)/.exec(this.said.text)[1];
  }

  async stop() {
    const ended = once(this.child, 'exit');
    process.off('exit', this.abandon);
    this.child.kill('SIGTERM');
    await ended;
  }
}

/** A service under a policy; `flags` are of its Node. */
export class BoostedService {
  static async start({ service, arm, flags = [], seed, workers, node, environment }) {
    const folder = mkdtempSync(join(tmpdir(), 'bobtail-bench-boost-'));
    const out = join(folder, 'boost.json');
    const lever = ['--actuator', 'emulated', '--cpu', String(SERVER_CORE)];
    const script = join(here, 'services', `${service}.cjs`);
    const pinned = ['taskset', '-c', String(SERVER_CORE), node, ...flags, script];
    const how = ['--policy', arm.policy, '--latency', milliseconds(arm.latency)];
    const told = ['--quiet', '--metrics', '0', '--out', out];
    const args = [MAIN, 'boost', ...lever, ...how, ...told, '--', ...pinned];
    const env = { ...environment, SEED: String(seed), WORKERS: String(workers) };
    try {
      const running = await Running.start(args, { env, core: LOAD_CORE });
      // It has started the service by then, and shares its core with the load.
      onlyWhenIdle(running.child.pid);
      const connections = await Connections.open(running.port, CONNECTIONS);
      return Object.assign(new BoostedService(), { folder, out, running, connections });
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /**
   * What its driver did until it last told: seconds and a count; null where it drives nothing. It
   * tells once a second.
   */
  async counters() {
    const response = await fetch(this.running.metricsUrl);
    const text = await response.text();
    if (!/^bobtail_boost_info\{.*\} 1$/m.test(text)) return null;
    const figure = (name) => {
      const value = Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
      if (!Number.isFinite(value)) throw new Error(`the metrics of boost have no ${name}`);
      return value;
    };
    return {
      boosts: figure('bobtail_boosts_total'),
      boostedS: figure('bobtail_boosted_seconds_total'),
      drivenS: figure('bobtail_driven_seconds_total'),
    };
  }

  /** The same, told just now. */
  async freshCounters() {
    const last = await this.counters();
    for (;;) {
      await sleep(FRESH_MS);
      const now = await this.counters();
      if (now === null || now.drivenS !== last?.drivenS) return now;
    }
  }

  /** CPU time of the loops' own threads. */
  loopNs() {
    return this.#sum((pid) => threadNs(pid, pid));
  }

  /** CPU time of all processes of the service. */
  cpuNs() {
    return this.#sum(cpuNs);
  }

  #sum(figure) {
    const { child } = this.running;
    return descendants(child.pid).reduce((sum, pid) => sum + figure(pid), 0);
  }

  /** Ends it; gives what `boost --out` says. */
  async stop() {
    this.connections.close();
    await this.running.stop();
    try {
      return JSON.parse(readFileSync(this.out, 'utf8'));
    } finally {
      rmSync(this.folder, { recursive: true, force: true });
    }
  }
}

/** `20us`, `500us`, `1ms` as the command line takes it. */
function milliseconds(latency) {
  const [, number, unit] = /^(\d+)(us|ms)$/.exec(latency);
  return `${Number(number) / (unit === 'us' ? 1000 : 1)}ms`;
}
