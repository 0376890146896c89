// Processes that everything else goes before, and that never sleep: one way to keep cores awake.
// For short trials only: see `workloads/harness/awake.mjs`.
import { spawn } from 'node:child_process';

/** Ends by itself with whoever started it, also when that is killed. */
const SPIN = `
  const parent = process.ppid;
  while (process.ppid === parent) for (let n = 0; n < 1e6; n += 1);
`;

/** Until the function is called that this gives, or this process ends. */
export function spinOn(cores) {
  const spinners = cores.map((core) => {
    const args = ['--idle', '0', 'taskset', '-c', String(core), process.execPath, '-e', SPIN];
    return spawn('chrt', args, { stdio: 'ignore' });
  });
  const stop = () => {
    for (const spinner of spinners) spinner.kill('SIGKILL');
    process.off('exit', stop);
  };
  process.once('exit', stop);
  return stop;
}
