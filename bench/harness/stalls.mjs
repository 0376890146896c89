// When the CPUs of an experiment did not run, each stall by itself, so that what came then can be
// left out, and when they were slow (`pace.mjs`).
//
// What the kernel tells of a host's time (`stolen.mjs`) comes in ticks of 10 ms, for all CPUs
// together and late: on a loud host half of all requests came near one, and nothing had happened
// to most of them. A real-time thread on each CPU sees single stalls: all of two milliseconds and
// more, and some of one (`crates/control/examples/stalls.rs`).
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Pace } from './pace.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Above the imitation of a frequency. */
const PRIORITY = '90';
/** Requests due so shortly before a stall may have waited through it: out, whatever they took. */
const BEFORE_MS = 20;
/** A queue that grew meanwhile is gone after so many times the stall, and what is least. */
const AFTER_BY_STALL = 4;
const AFTER_MS_MIN = 10;
/** Until what a watch has told is here. */
const TOLD_MS = 5;

/** From when to when what came is left out, in order and apart, of stalls `{fromMs, lateMs}`. */
export function windowsAround(stalls) {
  const windows = [];
  for (const { fromMs, lateMs } of stalls.toSorted((a, b) => a.fromMs - b.fromMs)) {
    const afterMs = Math.max(AFTER_MS_MIN, AFTER_BY_STALL * lateMs);
    const one = { fromMs: fromMs - BEFORE_MS, untilMs: fromMs + lateMs + afterMs };
    const last = windows.at(-1);
    if (last && one.fromMs <= last.untilMs) last.untilMs = Math.max(last.untilMs, one.untilMs);
    else windows.push(one);
  }
  return windows;
}

/** Whether who came at a moment (ms of `performance.now`) is to be left out. */
export function disturbedBy(stalls) {
  return within(windowsAround(stalls));
}

/** Whether a moment is in one of these windows. */
export function within(windows) {
  return (ms) => windows.some(({ fromMs, untilMs }) => ms > fromMs && ms < untilMs);
}

/** Looks at CPUs until it is stopped. Needs root. */
export class StallWatch {
  #children = [];
  #stalls = [];
  /** How fast the CPUs are. */
  pace = new Pace();
  /** Why one of them does not look any longer. */
  #ended = null;
  /** Between the two clocks. */
  #aheadMs = Number(process.hrtime.bigint()) / 1e6 - performance.now();

  /** `profile` is Cargo's: that of the tests is built with them. */
  static async start(cpus, { profile = 'release' } = {}) {
    const build = ['build', '-q', '--profile', profile, '-p', 'bobtail-control'];
    execFileSync('cargo', [...build, '--example', 'stalls'], { cwd: root, stdio: 'inherit' });
    const program = `${root}target/${profile}/examples/stalls`;
    const watch = new StallWatch();
    await Promise.all(cpus.map((cpu) => watch.#watch(cpu, program)));
    return watch;
  }

  async #watch(cpu, program) {
    // It must not outlive this process, whatever ends that.
    const args = ['--pdeathsig', 'KILL', 'chrt', '--fifo', PRIORITY, program, String(cpu)];
    const child = spawn('setpriv', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#children.push(child);
    const lines = createInterface({ input: child.stdout });
    const [watches, ends] = [once(lines, 'line'), once(child, 'exit')];
    lines.on('line', (line) => {
      const [what, atNs, tookNs] = line.split(' ');
      const atMs = Number(atNs) / 1e6 - this.#aheadMs;
      if (what === 'work') this.pace.add(cpu, { atMs, workNs: Number(tookNs) });
      // The first only says that it watches.
      else if (tookNs !== '0') this.#stalls.push({ fromMs: atMs, lateMs: Number(tookNs) / 1e6 });
    });
    const fail = ends.then(([code, signal]) => {
      this.#ended = `the watch of CPU ${cpu} has ended with ${code ?? signal}`;
      return Promise.reject(new Error(this.#ended));
    });
    // Later `taken` tells it.
    fail.catch(() => undefined);
    await Promise.race([watches, fail]);
  }

  /**
   * Stalls `{fromMs, lateMs}` since it was last asked, by `performance.now`. Throws when nobody
   * looks any longer: what came then would pass for undisturbed.
   */
  async taken() {
    await new Promise((resolve) => setTimeout(resolve, TOLD_MS));
    if (this.#ended !== null) throw new Error(this.#ended);
    return this.#stalls.splice(0);
  }

  /** A moment of `performance.now` by the clock of recordings (CLOCK_MONOTONIC, in ns). */
  monotonicNs(ms) {
    return Math.round((ms + this.#aheadMs) * 1e6);
  }

  async stop() {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
  }
}
