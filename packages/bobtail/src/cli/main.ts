#!/usr/bin/env node
/**
 * The command line's edge: the only place that prints errors and chooses the exit code.
 *
 * Modules are loaded after the check of the Node version, since they use what older ones lack.
 */
import { NODE_MAJOR_MIN } from './node-version';

async function main(): Promise<void> {
  const { ignoreBrokenPipes, tell } = await import('./console');
  const { EXIT_CODES } = await import('./exit-codes');
  const { Failure, oneLine } = await import('./failure');
  const { runCommandLine } = await import('./command-line');
  const { plain } = await import('./text/plain');
  ignoreBrokenPipes();
  try {
    await runCommandLine(process.argv.slice(2));
  } catch (error) {
    if (error instanceof Failure) {
      // What was recorded may be quoted in it.
      tell(`bobtail: ${plain(oneLine(error.message))}`);
      process.exitCode = error.exitCode;
    } else {
      tell(`bobtail: internal error: ${plain(oneLine(String(error)))}`);
      if (process.env.BOBTAIL_DEBUG && error instanceof Error) {
        tell(error.stack ?? '');
      }
      process.exitCode = EXIT_CODES.internal;
    }
  }
}

if (Number(process.versions.node.split('.')[0]) < NODE_MAJOR_MIN) {
  process.stderr.write(
    `bobtail: Node.js ${NODE_MAJOR_MIN} or newer is needed (${process.version})\n`,
  );
  process.exitCode = 69;
} else {
  void main();
}
