/**
 * A child in a session of its own, so that every signal reaches it exactly once.
 *
 * In the terminal's foreground group Ctrl-C would be delivered by the kernel and again by
 * forwarding, and services treat a second SIGINT as "stop now". With its own session the child
 * gets nothing but what is forwarded; reading from the terminal still works, job control does not
 * stop readers of another session.
 */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../failure';
import type { Outcome } from '../json/run';
import { processIds, processStat } from '../process-stat';

/** How long a process may take to end after SIGTERM. */
const STOP_GRACE_MS = 5_000;
/** How long children may outlive the command before they are signalled too. */
const LEFTOVER_GRACE_MS = 250;
const POLL_MS = 50;

/** Where output goes: where Bobtail's own goes, nowhere, or to an open file. */
export type Stdio = 'inherit' | 'ignore' | { readonly fd: number };

/** As Node takes it; what writes to a file reads nothing. */
function toOptions(stdio: Stdio | StdioOptions): StdioOptions {
  return typeof stdio === 'object' && 'fd' in stdio ? ['ignore', stdio.fd, stdio.fd] : stdio;
}

/** A running command with everything it started. */
export class ProcessGroup {
  readonly pid: number;
  readonly #child: ChildProcess;
  /** Settles when the command itself has ended; never rejects. */
  readonly ended: Promise<Outcome>;
  #outcome: Outcome | undefined;

  private constructor(child: ChildProcess, pid: number) {
    this.#child = child;
    this.pid = pid;
    this.ended = new Promise((resolve) => {
      child.once('exit', (exitCode, signal) => {
        this.#outcome = { exitCode, signal };
        resolve(this.#outcome);
      });
    });
  }

  /** Starts `file`; rejects with the system error when that is not possible. */
  static start(
    file: string,
    args: readonly string[],
    env: NodeJS.ProcessEnv,
    stdio: Stdio | StdioOptions,
  ): Promise<ProcessGroup> {
    return new Promise((resolve, reject) => {
      const child = spawn(file, args, { env, stdio: toOptions(stdio), detached: true });
      child.once('error', reject);
      child.once('spawn', () => {
        child.off('error', reject);
        // A signal that cannot be delivered because the process is gone is no trouble.
        child.on('error', () => undefined);
        resolve(new ProcessGroup(child, child.pid as number));
      });
    });
  }

  /** Whether the command itself still runs. */
  get running(): boolean {
    return this.#outcome === undefined;
  }

  /** Signals the command only, as `kill <pid>` does. */
  signal(signal: NodeJS.Signals): void {
    if (this.running) {
      this.#child.kill(signal);
    }
  }

  /** Signals the command and all it started, as a terminal does. */
  signalAll(signal: NodeJS.Signals): void {
    signalPid(-this.pid, signal);
  }

  /** Waits until all that it started has ended, too; returns whether it has within that time. */
  async emptied(withinMs: number): Promise<boolean> {
    return until(() => !isGroupAlive(this.pid), withinMs);
  }

  /**
   * Ends the command with SIGTERM, then what it left behind: `sh -c` dies of SIGTERM without
   * passing it on. After five seconds everything that still runs is killed.
   * Returns whether all ended without being killed.
   */
  async stop(): Promise<boolean> {
    this.signal('SIGTERM');
    if (await until(() => !this.running, STOP_GRACE_MS)) {
      if (await this.emptied(LEFTOVER_GRACE_MS)) {
        return true;
      }
      this.signalAll('SIGTERM');
      if (await this.emptied(STOP_GRACE_MS)) {
        return true;
      }
    }
    this.signalAll('SIGKILL');
    await this.ended;
    return false;
  }
}

async function until(condition: () => boolean, withinMs: number): Promise<boolean> {
  for (let waitedMs = 0; waitedMs <= withinMs; waitedMs += POLL_MS) {
    if (condition()) {
      return true;
    }
    await sleep(POLL_MS);
  }
  return condition();
}

/** Whether a process of the group runs. `kill(-pid, 0)` would count zombies nobody reaps. */
function isGroupAlive(group: number): boolean {
  return processIds().some((pid) => {
    const stat = processStat(pid);
    return stat?.group === group && stat.state !== 'Z' && stat.state !== 'X';
  });
}

function signalPid(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!hasCode(error, 'ESRCH')) {
      throw error;
    }
  }
}
