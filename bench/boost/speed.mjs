// How fast the servers' core is right now.
//
// On a shared host it is slower by half for seconds or minutes, without any time taken, while a
// neighbour uses the other half of the core. At the same rate the loop is then busier, and its tail
// is another: a difference of that size between two cells hides what any policy brings. The service
// itself is no measure of it: what a request costs depends on how often the loop sleeps, which is
// what the arms change. So it is asked of a process that does the same work when no service is
// there, and cells are measured at one speed only.
import { fork } from 'node:child_process';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ordinaryPriority, pin, SERVER_CORE } from '../harness/cpu.mjs';
import { quartiles } from '../harness/statistics.mjs';

const UNITS = 5;
/** By how much the core may be faster or slower, and still count as fast. */
const OFF_MAX = 0.15;
/** Between two looks, while it is not. */
const WAIT_MS = 1000;
/** Looks. */
const TOLD_EVERY = 30;

/** Whether the core is as fast with one unit as with the other. */
export function isAsFast(unitMs, otherMs) {
  return Math.abs(Math.log(unitMs / otherMs)) <= OFF_MAX;
}

/** Of one Node; to be stopped. */
export class SpeedProbe {
  #child;

  /** Of the helper's end: it is there until it is stopped. */
  #ended = null;

  constructor(node) {
    const script = fileURLToPath(new URL('speed-unit.cjs', import.meta.url));
    this.#child = fork(script, { execPath: node, execArgv: [] });
    this.#child.once('exit', (code, signal) => {
      this.#ended = new Error(`the probe of the core's speed ended with ${code ?? signal}`);
    });
    this.#child.on('error', (error) => {
      this.#ended = error;
    });
    pin(this.#child.pid, SERVER_CORE);
    ordinaryPriority(this.#child.pid);
  }

  /** CPU time in ms of a fixed piece of work: the median of a few. */
  async unitMs() {
    const all = [];
    for (let unit = 0; unit < UNITS; unit += 1) all.push(await this.#unitMs());
    return quartiles(all).median;
  }

  /**
   * Waits until the core is as fast as it was with such a unit, or for so many looks; gives what
   * one takes.
   */
  async until(wantedMs, looksMax = Number.POSITIVE_INFINITY) {
    for (let looks = 1; ; looks += 1) {
      const unitMs = await this.unitMs();
      if (isAsFast(unitMs, wantedMs) || looks >= looksMax) return unitMs;
      if (looks % TOLD_EVERY === 0) {
        const told = `${unitMs.toFixed(0)} ms instead of ${wantedMs.toFixed(0)}`;
        process.stderr.write(`waiting for the core to be as fast: a unit takes ${told}\n`);
      }
      await sleep(WAIT_MS);
    }
  }

  /** One, while this process spins as it does under load: the two may share a core. */
  async #unitMs() {
    let answer;
    this.#child.once('message', (ms) => {
      answer = ms;
    });
    this.#child.send('unit');
    while (answer === undefined) {
      if (this.#ended !== null) throw this.#ended;
      await nextTurn();
    }
    return answer;
  }

  stop() {
    this.#child.kill();
  }
}
