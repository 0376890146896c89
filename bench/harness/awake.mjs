// Keeps cores of a virtual machine from ever being idle, as `idle=poll` on the kernel's command
// line would: a core that sleeps and wakes is given to others by the host meanwhile, and has to
// wait for its turn when it wakes (`bench/stolen/`).
//
// At the priority that everything else goes before at once. Not beside something that never sleeps
// itself: that would lose whole ticks to it.
import { spawn } from 'node:child_process';

/** Ends by itself with whoever started it, also when that is killed. */
const SPIN = `
  const parent = process.ppid;
  while (process.ppid === parent) for (let n = 0; n < 1e6; n += 1);
`;

/** Until the function is called that this gives, or this process ends. */
export function keepAwake(cores) {
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
