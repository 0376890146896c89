// Runs the built command, the one that this repository has: an experiment is about this source, not
// about whatever is installed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { renameSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { exitOnSignals } from '../../workloads/harness/exit-on-signals.mjs';

/** The command's script. */
export const MAIN = fileURLToPath(
  new URL('../../packages/bobtail/dist/cli/main.js', import.meta.url),
);

const root = fileURLToPath(new URL('../..', import.meta.url));

/** As thrown where a command ended otherwise than well. */
class Ended extends Error {
  constructor(verb, code, stderr) {
    super(`bobtail ${verb} ended with ${code}: ${stderr}`);
    Object.assign(this, { code, stderr });
  }
}

/**
 * What a command printed; `options` are spawn's. Throws an `Ended` when it ended otherwise than
 * well. It ends with this process, and this process hears signals meanwhile.
 */
export async function bobtail(args, options = {}) {
  exitOnSignals();
  const stdio = ['ignore', 'pipe', 'pipe'];
  const child = spawn(process.execPath, [MAIN, ...args], { ...options, stdio });
  const [stdout, stderr] = [child.stdout, child.stderr].map((stream) => {
    const chunks = [];
    stream.on('data', (chunk) => chunks.push(chunk));
    return () => Buffer.concat(chunks).toString();
  });
  const abandon = () => child.kill('SIGTERM');
  process.once('exit', abandon);
  const [code] = await once(child, 'close');
  process.off('exit', abandon);
  if (code !== 0) throw new Ended(args[0], code, stderr());
  return stdout();
}

/** An answer in JSON without where this project lies, which is nobody's business. */
export function withoutRoot(answer) {
  const { run } = answer;
  if (run === undefined) return answer;
  return { ...answer, run: { ...run, command: run.command.map((word) => word.replace(root, '')) } };
}

/** What an experiment wants of a recording: nothing but its traces. */
export const BARE = ['--quiet', '--no-report', '--no-html'];

/**
 * Records `command` into the folder `out`, which is there only when it is whole: a run that was
 * killed goes on with those that are. `flags` are of `bobtail record`, `options` spawn's.
 */
export async function recordWhole(out, flags, command, options) {
  const part = `${out}.part`;
  rmSync(part, { recursive: true, force: true });
  await bobtail(['record', ...BARE, '--out', part, ...flags, '--', ...command], options);
  renameSync(part, out);
}

/** Means over the requests of a recording that are of these routes (`*` is all of them). */
export async function meansOf(folder, isWanted) {
  const { breakdown } = JSON.parse(await bobtail(['report', folder, '--json']));
  const rows = breakdown.filter(({ route }) => isWanted(route));
  const sum = (figure) => rows.reduce((all, row) => all + figure(row), 0);
  const requests = sum(({ count }) => count);
  const figures = ['latencyNs', 'ioNs', 'queueNs', 'execNs'];
  const means = figures.map((figure) => {
    return [figure, Math.round(sum((row) => row.count * row[figure]) / requests)];
  });
  return { requests, ...Object.fromEntries(means) };
}
