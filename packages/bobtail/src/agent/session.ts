/**
 * What the native probe hands over when a recording starts, and the place where it lies ready.
 *
 * The stream is written by a module (`stream.ts`) that reads the session once, while it is loaded,
 * into constants: V8 then compiles the addresses of the buffers into the hot functions. So the
 * session must be here before that module is required for the first time.
 */

/** Whether one mechanism of the probe works on this host, and why not. */
export interface Mechanism {
  name: string;
  ok: boolean;
  reason?: string;
}

/** The buffers shared with the native probe, and the calls into it that the stream needs. */
export interface Session {
  /** The header page of the trace file; the live block starts at byte 1024. */
  live: ArrayBuffer;
  /** `ring_slots` chunks into which records are written. */
  ring: ArrayBuffer;
  /** Request of an event, by `event & 65535`. */
  context: ArrayBuffer;
  /** `CLOCK_MONOTONIC` at the start of the recording, in ns. */
  startNs: bigint;
  mechanisms: Mechanism[];
  /** Opens the next chunk; false, and a loss counted, when none is ready. */
  roll(): boolean;
  /** Writes what the probe could not while JavaScript was writing a record. */
  flush(): void;
  /** The time that the loop keeps now, in ms of `CLOCK_MONOTONIC`. */
  loopNow(): number;
  /** Id of a string in the string table. */
  intern(text: string): number;
  /** Nothing is recorded from now on. */
  pause(): void;
  /** Recording goes on, with these; undefined where it does not. */
  resume(): readonly Mechanism[] | undefined;
}

let current: Session | undefined;

/** Leaves the session for the stream module, which is loaded next. */
export function provideSession(session: Session): void {
  current = session;
}

/** The session of this thread. Throws when no recording was started. */
export function takeSession(): Session {
  if (current === undefined) throw new Error('the stream was loaded before the probe was started');
  return current;
}
