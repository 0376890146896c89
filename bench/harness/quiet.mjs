// A lock that experiments on one host hold while they measure, so that they do not disturb each
// other; without `--lock FILE` there is none.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Runs `work` while `file` is locked (flock(1)); with `file` undefined, at once. */
export async function quietly(file, work) {
  if (file === undefined) return work();
  const holder = spawn('flock', [file, 'sh', '-c', 'echo held; cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(holder, 'exit');
  await Promise.race([
    once(holder.stdout, 'data'),
    ended.then(([code]) => {
      throw new Error(`flock ${file} ended with ${code}`);
    }),
  ]);
  try {
    return await work();
  } finally {
    holder.stdin.end();
    await ended;
  }
}
