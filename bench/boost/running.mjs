// A server of an experiment on a core of its own, and its end.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ordinaryPriority } from '../harness/cpu.mjs';
import { listening } from '../harness/listening.mjs';

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
  }

  async stop() {
    const ended = once(this.child, 'exit');
    process.off('exit', this.abandon);
    this.child.kill('SIGTERM');
    await ended;
  }
}
