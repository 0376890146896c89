// A server of an experiment on a core of its own, and its end.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive } from '../../workloads/harness/alive.mjs';
import { descendants, ordinaryPriority } from '../harness/cpu.mjs';
import { listening } from '../harness/listening.mjs';

const LOOK_MS = 50;
const WORKERS_MS = 5_000;
/** Of what a service said on stderr. */
const KEPT_CHARACTERS = 4_000;

/**
 * A command of Node that listens; it is told to stop with this process, too. It has a channel to
 * this one, by which a driver knows that others of its kind may share its lever.
 */
export class Running {
  static async start(args, { env, core, node = process.execPath }) {
    const child = spawn('taskset', ['-c', String(core), node, ...args], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    ordinaryPriority(child.pid);
    const abandon = () => child.kill('SIGTERM');
    process.once('exit', abandon);
    try {
      return new Running(child, abandon, await listening(child));
    } catch (error) {
      child.kill('SIGTERM');
      process.off('exit', abandon);
      throw error;
    }
  }

  constructor(child, abandon, { port, pid }) {
    Object.assign(this, { child, abandon, port, pid });
    this.said = '';
    child.stderr.on('data', (chunk) => {
      this.said = (this.said + chunk).slice(-KEPT_CHARACTERS);
    });
    this.tellEnd = (code, signal) => {
      process.stderr.write(`service ${pid} ended with ${code ?? signal}: ${this.said.trim()}\n`);
    };
    // After what it said has been read, and not when it is told to end.
    child.once('close', this.tellEnd);
  }

  /** Ends it, and waits for the workers of a cluster, which end after it and tell until then. */
  async stop() {
    process.off('exit', this.abandon);
    this.child.off('close', this.tellEnd);
    const { pid, exitCode, signalCode } = this.child;
    if (exitCode !== null || signalCode !== null) return;
    const workers = descendants(pid);
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await ended;
    await Promise.all(workers.map(gone));
  }
}

/** Waits for the end of a process that is nobody's child any more, and ends one that does not. */
async function gone(pid) {
  for (let waitedMs = 0; isAlive(pid); waitedMs += LOOK_MS) {
    if (waitedMs === WORKERS_MS) process.kill(pid, 'SIGKILL');
    await sleep(LOOK_MS);
  }
}
