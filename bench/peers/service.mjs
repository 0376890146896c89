// One arm's service as a process: started on the core of the servers, found by what it prints,
// frozen while it must not disturb others, and ended by its id.
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cpuNs, LOAD_CORE, pin, SERVER_CORE } from '../harness/cpu.mjs';
import { Connections } from '../harness/open-loop.mjs';

const START_MS_MAX = 60_000;
const here = fileURLToPath(new URL('.', import.meta.url));

/** A tool that cannot run here; the arm is left out and the reason kept. */
export class ArmUnavailable extends Error {}

/** The first line of output that tells port and process id. */
function listening(child) {
  return new Promise((resolve, reject) => {
    let text = '';
    let errors = '';
    const limit = setTimeout(() => reject(new ArmUnavailable('does not listen')), START_MS_MAX);
    child.stderr.on('data', (chunk) => {
      errors = (errors + chunk).slice(-2000);
    });
    child.stdout.on('data', (chunk) => {
      text += chunk;
      const found = /\{"listening":(\{.*?\})\}/.exec(text);
      if (!found) return;
      clearTimeout(limit);
      resolve(JSON.parse(found[1]));
    });
    child.once('exit', (code, signal) => {
      clearTimeout(limit);
      const why = errors.split('\n').find((line) => /error/i.test(line)) ?? errors.trim();
      reject(new ArmUnavailable(`ended with ${code ?? signal}: ${why.slice(0, 200)}`));
    });
  });
}

export class Service {
  static async start(name, { node, service, arm, environment, connections }) {
    const script = join(here, 'services', `${service}.cjs`);
    const [command, args] = arm.wrap.length
      ? [node, [...arm.wrap, node, script]]
      : [node, [...arm.nodeArgs, script]];
    const env = { ...process.env, ...environment, ...arm.env };
    const pinned = ['-c', String(SERVER_CORE), command, ...args];
    const child = spawn('taskset', pinned, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    try {
      const { port, pid } = await listening(child);
      child.removeAllListeners('exit');
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
