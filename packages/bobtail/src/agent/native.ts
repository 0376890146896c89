/**
 * The typed face of the native probe (`crates/probe`, built as `native/bobtail-probe.node`).
 *
 * Loaded when a recording starts and not before: most processes below a command never serve.
 */

import { join } from 'node:path';
import type { Driven } from '../cli/boost/driver-file';
import type { DriveOptions } from './boost/settings';
import type { Mechanism, Session } from './session';

/** What the probe is told at start. */
export interface StartOptions {
  path: string;
  pid: number;
  thread: number;
  detail: 'full' | 'loop';
  /** 1: have the kernel record each switch of the loop thread. */
  notRunning: 0 | 1;
  maxBytes: number;
  /** Bound of all traces of the folder together; 0 none. */
  maxTotalBytes: number;
  chunkBytes: number;
  nodeVersion: string;
  arch: string;
}

interface NativeProbe {
  start(
    options: StartOptions,
  ): Omit<Session, 'roll' | 'flush' | 'loopNow' | 'intern' | 'pause' | 'resume'>;
  roll(): boolean;
  flush(): void;
  loopNow(): number;
  intern(text: string): number;
  pause(): void;
  resume(): readonly Mechanism[] | undefined;
  adopt(fd: number): void;
  message(handle: number): boolean;
  looks(): string | undefined;
  /**
   * Senses the loop of this thread, unrecorded, and counts how long its requests take in a new
   * file at `latencies`; gives what can be sensed here. Throws with a one-line message.
   */
  sense(latencies: string): { mechanisms: readonly Mechanism[] };
  /** Ends that. */
  unsense(): boolean;
  /**
   * Drives a lever by a policy from now on, and tells in a new file at `told` what it did. Throws
   * with a one-line message.
   */
  drive(options: DriveOptions & { isShared: 0 | 1; told: string }): Driven;
}

const FILE = join(__dirname, '..', '..', 'native', 'bobtail-probe.node');

/** Loads the probe and starts the recording of this thread. Throws with a one-line message. */
export function startProbe(options: StartOptions): Session {
  const probe = load();
  const { live, ring, context, startNs, mechanisms } = probe.start(options);
  return {
    live,
    ring,
    context,
    startNs,
    mechanisms,
    roll: probe.roll,
    flush: probe.flush,
    loopNow: probe.loopNow,
    intern: probe.intern,
    pause: probe.pause,
    resume: probe.resume,
  };
}

/** Tells the probe that `fd`, which is older than the recording, is a client's connection. */
export function adoptDescriptor(fd: number): void {
  load().adopt(fd);
}

/** Opens the loop event of a message on `handle`; false where none can have been received. */
export function openMessage(handle: number): boolean {
  return load().message(handle);
}

/**
 * Has the probe look how the loop is told of descriptors, now that there are some. Throws where
 * that means that it must not look which are ready.
 */
export function lookAgain(): void {
  const reason = load().looks();
  if (reason !== undefined) throw new Error(reason);
}

/** What the probe does without a recording. */
export type Probe = Pick<NativeProbe, 'sense' | 'unsense' | 'drive'>;

/** The probe, for what it does without a recording. Throws with a one-line message. */
export function loadProbe(): Probe {
  return load();
}

let loaded: NativeProbe | undefined;

function load(): NativeProbe {
  try {
    loaded ??= require(FILE) as NativeProbe;
    return loaded;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_DLOPEN_DISABLED') throw error;
    throw new Error('addons are disabled: --permission needs --allow-addons, or drop --no-addons');
  }
}
