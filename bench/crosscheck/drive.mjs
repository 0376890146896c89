// The load of a cross-check and the start of its sampler; run by `bobtail record --on-port`.
//
// One request after the other, so that each piece of the thread's time belongs to one request. The
// sampler is perf: it interrupts the thread by a timer of the kernel's and walks its stack, and
// does so again when the thread goes to sleep; it knows nothing of Bobtail. Needs $PORT,
// $CROSSCHECK_PERF (where samples go) and $CROSSCHECK_MS.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { LOAD_CORE, pin, pinThread, SERVER_CORE } from '../harness/cpu.mjs';
import { Connections, closedLoop, requestBytes } from '../harness/open-loop.mjs';
import { PERIOD_NS } from './samples.mjs';

const WARM_MS = 1500;
const PERF_START_MS = 300;
/** Copied of the stack at each sample: what decides is nearer to the leaf than that. */
const STACK_BYTES = 8192;
/** 16 MB of samples come each second; what has no room is lost. */
const BUFFER = '64M';

pin(process.pid, LOAD_CORE);
const { PORT, CROSSCHECK_PERF, CROSSCHECK_MS } = process.env;
const pid = await (await fetch(`http://127.0.0.1:${PORT}/pid`)).text();
// Its helpers for collections and compilation stay free to run beside it: pinned to the same core,
// it would sleep until each has run, which is no way to run a server.
pinThread(Number(pid), SERVER_CORE);
const connections = await Connections.open(Number(PORT), 1);
const load = { requests: [requestBytes('/')], concurrency: 1 };
await closedLoop(connections, { ...load, durationMs: WARM_MS });
const running = ['-e', `task-clock/period=${PERIOD_NS}/`];
const blocked = ['-e', 'context-switches/period=1/', '--switch-events'];
const event = [...running, ...blocked, '-k', 'CLOCK_MONOTONIC'];
// Not by frame pointers: libc keeps none, and what allocates for a compilation is to be seen.
const stacks = ['--call-graph', `dwarf,${STACK_BYTES}`, '-m', BUFFER];
const where = ['-t', pid, '-o', CROSSCHECK_PERF];
const perf = spawn('perf', ['record', '--quiet', ...event, ...stacks, ...where], {
  stdio: ['ignore', 'ignore', 'inherit'],
});
const ended = once(perf, 'exit');
await new Promise((resolve) => setTimeout(resolve, PERF_START_MS));
await closedLoop(connections, { ...load, durationMs: Number(CROSSCHECK_MS) });
perf.kill('SIGINT');
await ended;
connections.close();
