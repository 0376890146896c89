// Runs the built command, the one that this repository has: an experiment is about this source, not
// about whatever is installed.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** The command's script. */
export const MAIN = fileURLToPath(
  new URL('../../packages/bobtail/dist/cli/main.js', import.meta.url),
);

/** What a command printed; `options` are spawn's. Throws when it ended otherwise than well. */
export function bobtail(args, options = {}) {
  const about = { encoding: 'utf8', maxBuffer: 2 ** 28, ...options };
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], about);
  if (status !== 0) throw new Ended(args[0], status, stderr);
  return stdout;
}

/** As thrown where a command ended otherwise than well. */
export class Ended extends Error {
  constructor(verb, code, stderr) {
    super(`bobtail ${verb} ended with ${code}: ${stderr}`);
    Object.assign(this, { code, stderr });
  }
}

/** The same without keeping this process from hearing signals; killed with it. */
export async function bobtailMeanwhile(args, env = {}) {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
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
