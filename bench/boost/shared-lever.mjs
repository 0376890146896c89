// One imitated frequency of the servers' core for the services of all arms of a round.
//
// One imitation at a time has a CPU, and starting one takes a second in which it is calibrated. So
// that arms can take turns of seconds they share one: an arm that nobody asks for anything asks for
// the base speed only, and bobtaild gives the most that is asked.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readDriverFiles } from '../../packages/bobtail/dist/cli/boost/driver-file.js';
import { boostEnv } from '../../packages/bobtail/dist/cli/boost/environment.js';
import { parseDrive } from '../../packages/bobtail/dist/cli/boost/flags.js';
import { memoryPlace } from '../../packages/bobtail/dist/cli/boost/memory-place.js';
import { LOAD_CORE, ordinaryPriority, SERVER_CORE } from '../harness/cpu.mjs';
import { driversFirst } from './drivers.mjs';
import { Running } from './running.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
/** As `bobtail boost` has it. */
const BUDGET = '1%';
const LOOK_MS = 10;
const DRIVEN_MS_MAX = 5000;
const REFUSALS_MAX = 20;

/** There is no lever, or its speed is off, as it is where the host takes time meanwhile. */
export class NotDriven extends Error {}

/** Again while the speed is off, as it is where the host takes time while it is calibrated. */
export async function driven(take) {
  for (let refusals = 0; ; refusals += 1) {
    try {
      return await take();
    } catch (error) {
      if (!(error instanceof NotDriven) || refusals === REFUSALS_MAX) throw error;
      process.stderr.write(`again, since nothing was driven: ${error.message}\n`);
    }
  }
}

/** Until it is stopped. */
export class SharedLever {
  #child;
  #lines;

  /** What services are told that use it, but for their policy. */
  drive;

  /** `latency` is of a change, such as `20us`. Throws a `NotDriven`. */
  static async start(latency) {
    const lever = new SharedLever();
    const cpu = String(SERVER_CORE);
    const wish = { actuator: 'emulated', latency, cpu, budget: BUDGET };
    const script = join(here, 'lever-process.mjs');
    const args = [
      '-c',
      String(LOAD_CORE),
      process.execPath,
      script,
      JSON.stringify(parseDrive(wish)),
    ];
    lever.#child = spawn('taskset', args, { stdio: ['pipe', 'pipe', 'inherit'] });
    ordinaryPriority(lever.#child.pid);
    lever.#lines = createInterface({ input: lever.#child.stdout });
    const { drive, refused } = await lever.#answer();
    if (drive === undefined) {
      await lever.stop();
      throw new NotDriven(refused);
    }
    driversFirst(lever.#child.pid);
    lever.drive = drive;
    return lever;
  }

  /** What it says next. */
  async #answer() {
    const [line] = await once(this.#lines, 'line');
    return JSON.parse(line);
  }

  /** How long it was up since it was first asked for, whoever wanted it; and of how long. */
  async raised() {
    const answer = this.#answer();
    this.#child.stdin.write('\n');
    const [{ raisedNs, ofNs }] = await answer;
    return { raisedNs, ofNs };
  }

  /**
   * Holds a speed for an arm that has one, until `stop()`: for a server that nobody asks. Tries
   * again by itself, or a whole round would be begun anew for one speed that was off for a moment.
   */
  hold(policy) {
    return driven(() => this.#holdOnce(policy));
  }

  async #holdOnce(policy) {
    const folder = mkdtempSync(join(memoryPlace(), 'bobtail-bench-hold-'));
    const env = boostEnv(folder, { ...this.drive, policy });
    const running = await Running.start([join(here, 'idle.mjs')], { env, core: LOAD_CORE });
    const stop = async () => {
      await running.stop();
      rmSync(folder, { recursive: true, force: true });
    };
    const endMs = performance.now() + DRIVEN_MS_MAX;
    for (;;) {
      const [file] = readDriverFiles(folder);
      if (file !== undefined && 'driven' in file) return { stop };
      if (file !== undefined || performance.now() > endMs) {
        await stop();
        throw new NotDriven(file?.refused ?? 'nothing was driven');
      }
      await sleep(LOOK_MS);
    }
  }

  async stop() {
    const ended = once(this.#child, 'exit');
    this.#child.stdin.end();
    await ended;
  }
}
