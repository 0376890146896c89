'use strict';
// What the observed process does in `interrupted.test.mjs`: it runs without ever waiting while
// others want its processor, and tells what the kernel's own sums say of the same time.

const fs = require('node:fs');
const path = require('node:path');
const worker = require('node:worker_threads');

const [name, out, ...rest] = worker.isMainThread ? process.argv.slice(2) : worker.workerData;
const addon = { exports: {} };
process.dlopen(addon, process.env.BOBTAIL_PROBE);
const probe = addon.exports;

function start() {
  return probe.start({
    path: path.join(out, `${process.pid}-${worker.threadId}.trace`),
    pid: process.pid,
    thread: worker.threadId,
    detail: 'full',
    notRunning: 1,
    maxBytes: 64e6,
    nodeVersion: process.version,
    arch: process.arch,
  });
}

const now = () => process.hrtime.bigint();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Sums of the kernel for this thread, and when they were read: between two times, which are taken
 * again when the thread was interrupted between them.
 */
function sums() {
  for (;;) {
    const fromNs = now();
    const [, delayNs] = fs.readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ');
    const status = fs.readFileSync('/proc/thread-self/status', 'latin1');
    const untilNs = now();
    const [, waited] = /^voluntary_ctxt_switches:\s+(\d+)/m.exec(status);
    const [, interrupted] = /^nonvoluntary_ctxt_switches:\s+(\d+)/m.exec(status);
    if (untilNs - fromNs > 300_000n) continue;
    return { fromNs, untilNs, delayNs: +delayNs, waited: +waited, interrupted: +interrupted };
  }
}

/** How often the watchdog, a thread of the probe, lost its processor though it could go on. */
function watchdogInterrupted() {
  const tasks = fs.readdirSync('/proc/self/task').map((id) => `/proc/self/task/${id}`);
  const isWatchdog = (task) => fs.readFileSync(`${task}/comm`, 'latin1') === 'bobtail-watch\n';
  const status = fs.readFileSync(`${tasks.find(isWatchdog)}/status`, 'latin1');
  return Number(/^nonvoluntary_ctxt_switches:\s+(\d+)/m.exec(status)[1]);
}

/** Runs for a time without waiting; as `summed` gives it. */
function runWithoutWaiting(startNs, ms) {
  return summed(startNs, () => {
    // Allocates nothing: a collection would wait for its helpers.
    for (const end = Date.now() + ms; Date.now() < end; );
  });
}

/** When something was done, and how the kernel's sums moved. */
function summed(startNs, act) {
  const before = sums();
  act();
  const after = sums();
  const { delayNs, waited, interrupted } = after;
  return {
    beginNs: Number(before.fromNs - startNs),
    endNs: Number(after.untilNs - startNs),
    readingNs: Number(before.untilNs - before.fromNs + after.untilNs - after.fromNs),
    delayNs: delayNs - before.delayNs,
    waited: waited - before.waited,
    interrupted: interrupted - before.interrupted,
  };
}

async function measure([count, ms], begin = () => sleep(5)) {
  const { mechanisms, startNs } = start();
  await begin();
  const slices = [];
  // Slices in which the thread waited after all cannot be compared: there may be many on a machine
  // that is busy with other things.
  let whole = 0;
  for (let n = 0; whole < +count && n < 20 * count; n++) {
    slices.push(runWithoutWaiting(startNs, +ms));
    whole += Number(slices.at(-1).waited === 0);
  }
  await sleep(5);
  const refused = mechanisms.find((one) => one.name === 'not-running').reason;
  return { slices, refused, thread: worker.threadId };
}

/** Waits for the other worker, or one could be done before the other wants its processor. */
function meet(met) {
  Atomics.add(met, 0, 1);
  Atomics.notify(met, 0);
  while (Atomics.load(met, 0) < 2) Atomics.wait(met, 0, 1);
}

/** Runs until the other worker has measured, too, so that each of its slices had a competitor. */
function keepRunning(met) {
  Atomics.add(met, 0, 1);
  while (Atomics.load(met, 0) < 4);
}

const scenarios = {
  measure: (options) => measure(options),

  async workers([count, ms, met]) {
    if (!worker.isMainThread) {
      const measured = await measure([count, ms], () => meet(met));
      keepRunning(met);
      worker.parentPort.postMessage(measured);
      return;
    }
    const all = new Int32Array(new SharedArrayBuffer(4));
    const workers = [1, 2].map(
      () => new worker.Worker(__filename, { workerData: [name, out, count, ms, all] }),
    );
    return Promise.all(
      workers.map((one) => new Promise((resolve) => one.once('message', resolve))),
    );
  },

  /** Long events, each of which is asked three times where it is. */
  async asked([count, ms]) {
    const { startNs } = start();
    const slices = [];
    const before = watchdogInterrupted();
    for (let n = 0; n < +count; n++) {
      await sleep(1);
      slices.push(runWithoutWaiting(startNs, +ms));
    }
    return { slices, watchdogInterrupted: watchdogInterrupted() - before };
  },

  async blocked() {
    const { mechanisms, startNs } = start();
    await sleep(5);
    const measured = summed(startNs, () => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60);
    });
    await sleep(5);
    const refused = mechanisms.find((one) => one.name === 'not-running').reason;
    return { ...measured, refused };
  },
};

scenarios[name](rest).then(
  (result) => {
    if (worker.isMainThread) process.stdout.write(`${JSON.stringify(result)}\n`);
  },
  (error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);
