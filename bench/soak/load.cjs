'use strict';
// The observed side of the soak: four workers, and the main thread, make V8 collect, compile and
// miss its inline caches while workers come and go in every way a worker can.
//
//   node load.cjs ADDON FOLDER SECONDS

const path = require('node:path');
const v8 = require('node:v8');
const vm = require('node:vm');
const worker = require('node:worker_threads');

const [addonPath, out, seconds] = worker.isMainThread ? process.argv.slice(2) : worker.workerData;
const WORKERS = 4;
const addon = { exports: {} };
process.dlopen(addon, addonPath);
const probe = addon.exports;

const { mechanisms } = probe.start({
  path: path.join(out, `${process.pid}-${worker.threadId}.trace`),
  pid: process.pid,
  thread: worker.threadId,
  detail: 'full',
  maxBytes: 8e6,
  chunkBytes: 65536,
  nodeVersion: process.version,
  arch: process.arch,
});

let salt = worker.threadId * 1e6;
const kept = [];

/** Shapes nobody has seen, getters that throw, compilations, deoptimizations, garbage. */
function turn() {
  const made = {};
  for (let key = 0; key < salt % 30; key++) made[`p${(salt * 7 + key) % 90}`] = key;
  made.x = salt++;
  const read = new Function('from', `return from.x + from.y${salt % 200}`);
  read(made);
  read({ ...made, [`y${salt % 50}`]: 1 });
  const throwing = Object.create({
    get bad() {
      if (salt % 3 === 0) throw new Error('planted');
      return vm.runInThisContext(`(() => ({ a${salt % 300}: ${salt} }))()`);
    },
  });
  throwing[`k${salt % 40}`] = 1;
  try {
    const bad = throwing.bad;
    if (bad === undefined) throw new Error('planted');
  } catch (error) {
    if (error.message !== 'planted') throw error;
  }
  const trapped = new Proxy(made, { get: (from, key) => from[key] ?? salt });
  kept.push({ sum: trapped.x + trapped[`p${salt % 90}`], list: [salt, `${salt}`] });
  if (kept.length > 20_000) kept.splice(0, 10_000);
}

/** Works for that long, a few milliseconds at a time. */
async function work(untilMs) {
  while (performance.now() < untilMs) {
    const pauseMs = performance.now() + 5;
    while (performance.now() < pauseMs) turn();
    await new Promise(setImmediate);
  }
}

/** Each worker ends in another way; gives what went wrong. */
function startWorker(turnNumber) {
  const child = new worker.Worker(__filename, { workerData: [addonPath, out, turnNumber] });
  const failed = new Promise((resolve) => {
    let error = null;
    child.on('error', (thrown) => (error = thrown.stack));
    child.on('exit', () => resolve(error));
  });
  if (turnNumber % 4 === 0) setTimeout(() => child.terminate(), 50 + (turnNumber % 7) * 20);
  return failed;
}

async function main() {
  const untilMs = performance.now() + seconds * 1000;
  const tag = v8.cachedDataVersionTag();
  let started = 0;
  const errors = [];
  const keepOne = async () => {
    while (performance.now() < untilMs) {
      const error = await startWorker(started++);
      if (error) errors.push(error);
    }
  };
  await Promise.all([work(untilMs), ...Array.from({ length: WORKERS }, keepOne)]);
  const { work: seen, losses } = probe.inspect();
  const isSameTag = tag === v8.cachedDataVersionTag();
  probe.stop();
  for (let round = 0; round < 100; round++) turn();
  const result = { mechanisms, started, errors, seen, losses, isSameTag };
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

async function inWorker(turnNumber) {
  await work(performance.now() + 100 + (turnNumber % 5) * 30);
  if (turnNumber % 4 === 1) process.exit(0);
  if (turnNumber % 4 === 2) {
    probe.stop();
    turn();
  }
}

(worker.isMainThread ? main() : inWorker(seconds)).catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
