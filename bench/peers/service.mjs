// One arm's service as a process: started on the core of the servers, found by what it prints,
// frozen while it must not disturb others, and ended by its id.
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cpuNs, LOAD_CORE, pin, SERVER_CORE } from '../harness/cpu.mjs';
import { listening, NotListening } from '../harness/listening.mjs';
import { Connections } from '../harness/open-loop.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));

/** A tool that cannot run here; the arm is left out and the reason kept. */
export class ArmUnavailable extends Error {}

/** What the service tells of itself, once it listens. */
async function told(child, msMax) {
  try {
    return await listening(child, msMax);
  } catch (error) {
    if (!(error instanceof NotListening)) throw error;
    const line = error.errors.split('\n').find((one) => /error/i.test(one)) ?? error.errors;
    throw new ArmUnavailable(`${error.why}: ${line.slice(0, 200)}`);
  }
}

export class Service {
  static async start(name, { node, service, arm, environment, connections }) {
    const script = join(here, 'services', `${service}.cjs`);
    const command = arm.wrap.length
      ? [node, ...arm.wrap, node, script]
      : [...(arm.under ?? []), node, ...arm.nodeArgs, script];
    const env = { ...process.env, ...environment, ...arm.env };
    const pinned = ['-c', String(SERVER_CORE), ...command];
    const child = spawn('taskset', pinned, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    try {
      const { port, pid } = await told(child, arm.startMsMax);
      const open = await Connections.open(port, connections);
      return new Service(name, arm, child, pid, open);
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
  }

  constructor(name, arm, child, pid, connections) {
    Object.assign(this, { name, arm, child, pid, connections });
    // An experiment that fails must not leave its services behind.
    this.abandon = () => this.stop();
    process.once('exit', this.abandon);
  }

  cpuNs() {
    return cpuNs(this.pid);
  }

  freeze() {
    if (this.arm.freezes) process.kill(this.pid, 'SIGSTOP');
  }

  thaw() {
    if (this.arm.freezes) process.kill(this.pid, 'SIGCONT');
  }

  stop() {
    process.off('exit', this.abandon);
    this.connections.close();
    this.child.kill('SIGKILL');
    if (this.pid === this.child.pid || !this.arm.wrap.length) return;
    try {
      process.kill(this.pid, 'SIGKILL');
    } catch (error) {
      if (error.code !== 'ESRCH') throw error;
    }
  }
}

/** The sink as a process on the core of the load. */
export async function startSink() {
  const child = fork(join(here, 'sink.mjs'));
  pin(child.pid, LOAD_CORE);
  const [{ port }] = await once(child, 'message');
  const counts = async () => {
    child.send('count');
    const [answer] = await once(child, 'message');
    return { ...answer };
  };
  return { port, counts, stop: () => child.disconnect() };
}
