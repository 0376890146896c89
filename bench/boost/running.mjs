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
    Object.assign(this, { child, abandon, port, pid, isWanted: false, said: '' });
    child.stderr.on('data', (chunk) => {
      this.said = (this.said + chunk).slice(-KEPT_CHARACTERS);
    });
    // When all that it said has been read.
    this.closed = once(child, 'close');
    this.closed.then(([code, signal]) => {
      if (this.isWanted) return;
      const said = this.said.trim() || 'nothing';
      const how = `ended by itself with ${code ?? signal}`;
      process.stderr.write(`process ${child.pid} of a service ${how}; it said: ${said}\n`);
    });
  }

  /** Ends it, and waits for the workers of a cluster, which end after it and tell until then. */
  async stop() {
    process.off('exit', this.abandon);
    const { pid, exitCode, signalCode } = this.child;
    if (exitCode !== null || signalCode !== null) {
      // What is left of it may hold what it spoke through.
      await Promise.race([this.closed, sleep(WORKERS_MS, undefined, { ref: false })]);
      return;
    }
    this.isWanted = true;
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
