/** The library: read a recording from a program. The command line is built on the same calls. */
export type { Outcome, RunFile } from './cli/json/run';
