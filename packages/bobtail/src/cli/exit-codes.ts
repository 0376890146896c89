/**
 * Exit codes of the command line: the one table that scripts and CI may rely on.
 *
 * `record` passes the code of the service through instead; these are for Bobtail's own troubles,
 * kept away from 1 and 2, which services use themselves.
 */
export const EXIT_CODES = {
  ok: 0,
  /** The command line was not understood. */
  usage: 64,
  /** The recording is damaged beyond what a reader can leave out. */
  damaged: 65,
  /** The recording was written by a newer Bobtail. */
  newerFormat: 66,
  /** The recording holds no finished request. */
  nothingRecorded: 67,
  /** The folder is not a recording. */
  notRecording: 68,
  /** Not a Node.js server, or a Node.js or machine that cannot be recorded. */
  unsupported: 69,
  /** A fault of Bobtail itself, or an incomplete installation. */
  internal: 70,
  /** The load command of `--on-port` failed. */
  loadFailed: 71,
  /** The output cannot be written. */
  cannotWrite: 73,
  /** The disk is full. */
  diskFull: 74,
  /** A gate of `--fail-on` was missed. */
  gateMissed: 75,
  /** No gate was missed, but of one the recording cannot tell. */
  gateUndecided: 76,
  /** The service as it is needs more memory than `tune` was given. */
  beyondMemory: 77,
  /** A proof ended: the change did not help. */
  didNotHelp: 78,
  /** A proof ended without a verdict: too few rounds, requests or working loads. */
  notProved: 79,
  /** The service ran well, but unboosted: no lever of this host could be had. */
  notBoosted: 80,
  /** The recording lacks what a replay needs. */
  notReplayable: 81,
  /** A lever that `boost` raised could not be put back. */
  leftRaised: 82,
  /** The command may not be executed (as shells have it). */
  notExecutable: 126,
  /** The command does not exist (as shells have it). */
  notFound: 127,
} as const;

/** Name of a trouble, as in the table above. */
export type ExitName = keyof typeof EXIT_CODES;

/** Signals by number, for `128 + n`; only those a service can end by. */
const SIGNAL_NUMBERS: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
  SIGXCPU: 24,
  SIGXFSZ: 25,
  SIGSYS: 31,
};

/** The exit code by which shells tell that a process died of `signal`. */
export function exitCodeOfSignal(signal: string): number {
  return 128 + (SIGNAL_NUMBERS[signal] ?? 0);
}
