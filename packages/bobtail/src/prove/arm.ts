/**
 * An arm of an experiment: the service as it is, or with one change.
 *
 * The change is a function of how the service is started and not a list of flags, so that whatever
 * can be put around a service (flags, an environment, a wrapper that boosts it) is proved alike.
 */
import type { RecordedProcess } from '../cli/record/agent-files';

/** How a service is started. */
export interface Invocation {
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** One arm. */
export interface Arm {
  /** Unique in its experiment, and what people see. */
  readonly name: string;
  start(service: Invocation): Invocation;
  /** Why the change did not reach the processes that serve; undefined when it did. */
  missing?(processes: readonly RecordedProcess[]): string | undefined;
}

/** The unchanged service. */
export const UNCHANGED: Arm = { name: 'unchanged', start: (service) => service };

/** The unchanged service again: what differs between the two is noise. */
export const CONTROL: Arm = { name: 'A/A', start: (service) => service };
