// The databases that the services of an experiment ask: which processes they are, and that they
// have the load's core whenever they want it.
//
// A lower priority of the load is not enough. Linux from 6.6 on (EEVDF, `place_entity` in
// `kernel/sched/fair.c`) lets who has had more than its share wait for the others, as long as the
// weights say: beside a load that spins at a low weight, that of a database for 0.3 ms of work was
// up to 0.6 s. And each process of PostgreSQL is a session of its own, so where sessions share
// the CPUs (`sched_autogroup_enabled`) priorities do not count between it and the load.
import { spawnSync } from 'node:child_process';
import { isAlive } from '../../workloads/harness/alive.mjs';
import { commandOf, descendants } from '../harness/cpu.mjs';

/** Before V8's helpers (`services/v8-workers.cjs`), which compile for milliseconds. */
const PRIORITY = '2';
const COMMANDS = ['postgres', 'redis-server'];

/** Ids of all processes of the databases that this one started. */
export function databases() {
  return descendants(process.pid).filter((pid) => COMMANDS.includes(commandOf(pid)));
}

/** Makes them, and what they start from now on, go before all that is no real-time thread. */
export function databasesGoFirst() {
  for (const pid of databases()) {
    const args = ['--fifo', '--all-tasks', '--pid', PRIORITY, String(pid)];
    const { status, stderr } = spawnSync('chrt', args, { encoding: 'utf8' });
    // One that has ended meanwhile needs none.
    if (status !== 0 && isAlive(pid)) throw new Error(`chrt of ${pid}: ${stderr.trim()}`);
  }
}
